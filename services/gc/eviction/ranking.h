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
#include "services/gc/eviction/disk_layout.h"
#include "services/gc/eviction/thresholds.h"

namespace splitlet::gc {

struct DiskStats {
  int64_t bytes = 0, inodes = 0;
  bool more = false;  // than is counted here
  DiskStats& operator+=(const DiskStats& other) {
    bytes += other.bytes;
    inodes += other.inodes;
    more = more || other.more;
    return *this;
  }
  bool operator==(const DiskStats&) const = default;
};

struct ContainerUsage {
  int64_t memory_bytes = 0;  // working set
  DiskStats layer, logs;
};

/// What a pod uses; a part that was not measured is not there.
struct PodUsage {
  std::map<std::string, ContainerUsage> containers;  // running ones, by name
  bool has_memory = false, has_disk = false;
  std::optional<int64_t> cgroup_memory_bytes;  // working set of the pod's own cgroup
  std::optional<int64_t> processes;
  DiskStats volumes;  // local ones, and the other files of the pod's directory
  std::map<std::string, DiskStats> limited_volumes;  // those with a limit, by name
  std::string unmeasured;  // why files of it were not counted, or not all; empty: all were

  /// Of the pod's cgroup; of its containers together where that is not to be seen.
  int64_t memory_bytes() const;
  /// `layers`: with what containers wrote into their root file systems; `rest`: logs and volumes.
  DiskStats disk(bool layers, bool rest) const;
};

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
