#include "services/pod-worker/pod/volume_traits.h"

#include <algorithm>

#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"

namespace splitlet::pod_worker {

std::string ClaimNameOf(const kube::Volume& volume, const kube::Pod& pod) {
  const auto& source = volume.volume_source();
  if (source.has_ephemeral()) return pod.metadata().name() + "-" + volume.name();
  return source.persistent_volume_claim().claim_name();
}

bool ShowsObjects(const k8s::io::api::core::v1::VolumeSource& source) {
  return source.has_config_map() || source.has_secret() || source.has_downward_api() ||
         source.has_projected();
}

bool ShowsObjects(const kube::Pod& pod) {
  return std::ranges::any_of(pod.spec().volumes(), [](const auto& volume) {
    return ShowsObjects(volume.volume_source());
  });
}

}  // namespace splitlet::pod_worker
