#pragma once

/// What this node, its disks and its containers use now.
/// Threads: a strand; it blocks on files and on the runtime. The parsers are pure.
/// Errors:  the runtime's for containers and images; a file that cannot be read leaves its figures
///          out.
/// Units:   bytes, nanoseconds of CPU time.
/// Source:  docs/behaviour/node-api.md, "Figures"; proc(5).

#include <cstdint>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"

namespace splitlet::v1 {
class NodeStatsReply;
}

namespace splitlet::gc {

struct StatsSources {
  const Clock& clock;
  fs::FileSystem& files;
  cri::Images& images;
  cri::Stats& stats;
  std::string root_dir;  // of the pods' directories
};

StatusOr<v1::NodeStatsReply> ReadNodeStats(const StatsSources& from, const Deadline& deadline);

/// Of all CPUs, without idling, from /proc/stat.
std::optional<uint64_t> CpuUsage(const std::string& stat);
/// "btime", seconds since the epoch.
std::optional<int64_t> BootTimeOf(const std::string& stat);

struct MemoryFigures {
  uint64_t total = 0, available = 0, usage = 0, working_set = 0;
};
/// From /proc/meminfo. What is available is all but the working set, as a kubelet counts it.
std::optional<MemoryFigures> MemoryOf(const std::string& meminfo);

}  // namespace splitlet::gc
