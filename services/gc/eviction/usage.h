#pragma once

/// What pods use of memory, local storage and process ids, measured when somebody has to know.
/// Threads: a strand; calls block on runtime and disk.
/// Errors: the runtime's; a tree that cannot be measured leaves its pod without figures of the
/// disk, and with the reason (`unmeasured`); of a pod without a cgroup that is to be seen here the
/// containers count.
/// Source: docs/behaviour/eviction.md, "Figures".

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/config.h"
#include "services/gc/eviction/disk_layout.h"
#include "services/gc/eviction/ranking.h"
#include "services/gc/eviction/tree_meter.h"

namespace splitlet::gc {

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

StatusOr<Usages> ReadUsage(const UsageSources& from, const std::vector<UsageWish>& wishes,
                           const GcConfig& config);

StatusOr<DiskLayout> FindDiskLayout(const UsageSources& from, cri::Images& images,
                                    const GcConfig& config);

}  // namespace splitlet::gc
