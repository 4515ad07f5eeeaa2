#pragma once

/// How much memory, local storage and process ids pods use, measured on demand.
/// Threads: a strand; calls block on runtime and disk.
/// Errors: those of the runtime. A pod with a tree that cannot be measured has no disk stats, and
/// `unmeasured` holds the reason. For a pod whose cgroup is not visible the containers count.
/// Source: docs/behaviour/eviction.md, "Usage of pods".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "services/gc/config.h"
#include "services/gc/measure/disk_layout.h"
#include "services/gc/measure/tree_meter.h"

namespace splitlet::gc {

struct ContainerUsage {
  int64_t memory_bytes = 0;  // working set
  DiskStats layer, logs;
};

/// The usage of a pod; a part that was not measured is empty.
struct PodUsage {
  std::map<std::string, ContainerUsage> containers;  // running containers, by name
  bool has_memory = false, has_disk = false;
  std::optional<int64_t> cgroup_memory_bytes;  // working set of the pod's own cgroup
  std::optional<int64_t> processes;
  DiskStats volumes;  // local volumes and the other files of the pod's directory
  std::map<std::string, DiskStats> limited_volumes;  // volumes with a size limit, by name
  std::string unmeasured;                            // why files were not counted; empty: all were

  /// Memory of the pod's cgroup, or of its containers together where the cgroup is not visible.
  int64_t memory_bytes() const;
  /// `layers`: add what containers wrote into their root file systems; `rest`: add logs and
  /// volumes.
  DiskStats disk(bool layers, bool rest) const;
};

struct UsageSources {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Reader& reader;
  cri::Stats& stats;
  TreeMeter& meter;
};

struct UsageWish {
  std::string uid;
  std::shared_ptr<const kube::Pod> pod;
  bool memory = false, disk = false, processes = false;
  std::set<std::string> volumes;  // emptyDirs, by name
  bool from_runtime() const { return memory || disk; }
};

using Usages = std::map<std::string, PodUsage>;  // by UID

/// Measures what each wish asks for.
StatusOr<Usages> ReadUsage(const UsageSources& from, const std::vector<UsageWish>& wishes,
                           const GcConfig& config);

StatusOr<DiskLayout> FindDiskLayout(const UsageSources& from, cri::Images& images,
                                    const GcConfig& config);

}  // namespace splitlet::gc
