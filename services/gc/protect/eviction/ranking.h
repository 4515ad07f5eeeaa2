#pragma once

/// The order in which pods are evicted for a resource, and the pods that are never evicted.
/// Threads: pure.
/// Errors: none; a pod without stats is evicted first.
/// Units: bytes, inodes, processes.
/// Source: docs/behaviour/eviction.md, "Who goes first"; kubelet eviction rankMemoryPressure,
/// rankDiskPressureFunc, rankPIDPressure.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/kube/pod_types.h"
#include "libs/kube/quantity.h"
#include "services/gc/measure/usage.h"
#include "services/gc/protect/eviction/reclaim.h"
#include "services/gc/protect/pressure/thresholds.h"

namespace splitlet::gc {

struct Candidate {
  std::string uid;
  int64_t incarnation = 0;
  std::shared_ptr<const kube::Pod> pod;
  PodUsage usage;
};

/// The pod has requests or limits for all its containers together.
bool HasPodLevelResources(const kube::Pod& pod);
/// The request that usage is compared with. For a pod with pod-level resources, which cannot name
/// ephemeral storage, the storage requests of its containers do not count.
kube::Quantity RequestOf(const kube::Pod& pod, std::string_view resource);

/// Sorts: the first candidate is evicted first.
void Rank(Starved resource, DiskScope scope, std::vector<Candidate>& candidates);

/// Mirror pods and critical pods (by priority or by the name of the priority class) are never
/// evicted. Static pods are evicted only when the configuration allows it.
bool MayBeEvicted(const kube::Pod& pod, bool static_pods_too);

/// Grace period of an eviction: 1 s for a hard threshold; for a soft threshold the lesser of `most`
/// and the pod's own. Never below 1, because 0 and less have other meanings in KillPod.
int64_t GraceSeconds(const kube::Pod& pod, bool hard, int64_t most);

}  // namespace splitlet::gc
