#pragma once

/// In which order pods go when the node runs out of something, and which never go.
/// Threads: pure.
/// Errors: none; what was not measured is not there, and goes first.
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

/// It says for all its containers together what it requests, or may use.
bool HasPodLevelResources(const kube::Pod& pod);
/// What counts against its use. Of a pod with resources of its own the requests of its containers
/// do not count for storage, which it cannot request itself.
kube::Quantity RequestOf(const kube::Pod& pod, std::string_view resource);

/// Sorts so that the first goes first.
void Rank(Starved resource, DiskScope scope, std::vector<Candidate>& candidates);

/// Static pods and mirrors never go, unless the node says that static ones may; nor does what the
/// cluster depends on, by priority or by the names of those priority classes.
bool MayBeEvicted(const kube::Pod& pod, bool static_pods_too);

/// Of a kill: 1 s for a hard threshold; for a soft one what the node allows at most, or the pod's
/// own when it is less. Never below 1, which would mean something else.
int64_t GraceSeconds(const kube::Pod& pod, bool hard, int64_t most);

}  // namespace splitlet::gc
