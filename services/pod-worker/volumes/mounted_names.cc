#include "services/pod-worker/volumes/mounted_names.h"

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

std::set<std::string> MountedNames(const kube::Pod& pod) {
  std::set<std::string> names;
  for (const auto& container : pod.spec().init_containers())
    for (const auto& mount : container.volume_mounts()) names.insert(mount.name());
  for (const auto& container : pod.spec().containers())
    for (const auto& mount : container.volume_mounts()) names.insert(mount.name());
  for (const auto& container : pod.spec().ephemeral_containers())
    for (const auto& mount : container.ephemeral_container_common().volume_mounts())
      names.insert(mount.name());
  return names;
}

}  // namespace splitlet::pod_worker
