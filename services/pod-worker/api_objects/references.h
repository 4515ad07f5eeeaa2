#pragma once

/// The API objects that a pod references.
/// Threads: pure, any.
/// Errors:  none.
/// Source:  docs/behaviour/objects.md, "From an API server"; kubelet VisitPodSecretNames,
///          VisitPodConfigmapNames.

#include <set>
#include <string>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

/// All in the pod's namespace. Includes the references of volumes that no container mounts.
struct References {
  std::set<std::string> config_maps, secrets, claims;
  std::set<TokenWish> tokens;
  bool operator==(const References&) const = default;
};
References ReferencesOf(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
