#pragma once

/// Measures the present usage of this node, its disks, pods and containers.
/// Threads: a strand; it blocks on files and on the runtime. The parsers are pure.
/// Errors:  the runtime's for containers and images; a file that cannot be read leaves its
///          stats out.
/// Units:   bytes, nanoseconds of CPU time.
/// Source:  docs/behaviour/node-api.md, "Figures"; proc(5).

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/measure/stats/pod_usage.h"
#include "services/gc/measure/stats/volume_monitor.h"
#include "services/gc/measure/tree_meter.h"

namespace splitlet::v1 {
class NodeStatsReply;
}

namespace splitlet::gc {

struct StatsSources {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Images& images;
  cri::Stats& stats;
  TreeMeter& meter;
  std::function<std::optional<int64_t>()> runtime_pid;
  std::string root_dir;                // holds the pods' directories
  std::string pods_dir, pod_logs_dir;  // see GcConfig
};

/// Pods to read, from the tables, and what the caller asks for.
struct StatsInput {
  std::vector<PodToRead> pods;
  MeasuredVolumes volumes;
  bool details = false;  // see NodeStatsRequest
};

StatusOr<v1::NodeStatsReply> ReadNodeStats(const StatsSources& from, const StatsInput& input,
                                           const Deadline& deadline);

/// Busy time of all CPUs. `stat`: of /proc/stat.
std::optional<uint64_t> CpuUsage(const std::string& stat);
/// The line "btime" of /proc/stat, in seconds since the epoch.
std::optional<int64_t> BootTimeOf(const std::string& stat);

}  // namespace splitlet::gc
