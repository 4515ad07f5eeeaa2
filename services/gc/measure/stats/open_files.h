#pragma once

/// How many files and sockets the processes of a container have open, and their limit.
/// Threads: a strand; it blocks on files.
/// Errors:  none: a number that cannot be read, or exceeds the budget, is left out.
/// Source:  docs/behaviour/node-api.md, "Figures"; proc(5).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/fs/file_system.h"

namespace splitlet::v1 {
class UsageStats;
}

namespace splitlet::gc {

/// Bounds of one reading of the node; each inspected process lowers them. Slots: size of a
/// process's table of open files.
struct OpenFilesBudget {
  size_t processes = 4'000, slots = 200'000;
};

/// Sets the numbers only when all processes were counted. `pids`: of the cgroup, in its order.
void ReadOpenFiles(fs::FileSystem& files, const std::vector<int64_t>& pids, OpenFilesBudget& left,
                   v1::UsageStats& usage);

/// The soft limit in `limits`, the text of /proc/<pid>/limits; -1: unlimited.
std::optional<int64_t> MaxOpenFiles(const std::string& limits);

}  // namespace splitlet::gc
