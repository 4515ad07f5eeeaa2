#pragma once

/// What a pod names at an API server.
/// Threads: pure, any.
/// Errors:  none.
/// Source:  docs/behaviour/objects.md, "From an API server"; kubelet VisitPodSecretNames,
///          VisitPodConfigmapNames.

#include <set>
#include <string>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

/// All of the pod's namespace. What only volumes name that no container mounts is among it.
struct References {
  std::set<std::string> config_maps, secrets, claims;
  std::set<TokenWish> tokens;
  bool operator==(const References&) const = default;
};
References ReferencesOf(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
