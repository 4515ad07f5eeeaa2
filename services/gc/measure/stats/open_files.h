#pragma once

/// How many files and sockets the processes of a container have open, and how many they may.
/// Threads: a strand; it blocks on files.
/// Errors:  none: what cannot be read, or is too much to count, is left out.
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

/// What one reading of the node may still look at. Slots: room for open files that a process has.
struct OpenFilesBudget {
  size_t processes = 4'000, slots = 200'000;
};

/// Of what is not wholly counted, no number is given. `pids`: those of its cgroup, the first first.
void ReadOpenFiles(fs::FileSystem& files, const std::vector<int64_t>& pids, OpenFilesBudget& left,
                   v1::UsageStats& usage);

/// The soft limit in /proc/<pid>/limits; -1: none.
std::optional<int64_t> MaxOpenFiles(const std::string& limits);

}  // namespace splitlet::gc
