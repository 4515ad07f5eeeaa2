#include "services/pod-worker/volumes/mounted_names.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::pod_worker {

namespace {

/// Calls `add` with each init, regular and ephemeral container.
template <class Add>
void ForEachContainer(const kube::Pod& pod, const Add& add) {
  std::ranges::for_each(pod.spec().init_containers(), add);
  std::ranges::for_each(pod.spec().containers(), add);
  for (const auto& container : pod.spec().ephemeral_containers())
    add(container.ephemeral_container_common());
}

}  // namespace

std::set<std::string> MountedNames(const kube::Pod& pod) {
  std::set<std::string> names;
  ForEachContainer(pod, [&names](const auto& container) {
    for (const auto& mount : container.volume_mounts()) names.insert(mount.name());
  });
  return names;
}

std::set<std::string> DeviceNames(const kube::Pod& pod) {
  std::set<std::string> names;
  ForEachContainer(pod, [&names](const auto& container) {
    for (const auto& device : container.volume_devices()) names.insert(device.name());
  });
  return names;
}

}  // namespace splitlet::pod_worker
