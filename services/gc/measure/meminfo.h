#pragma once

/// How much memory the node has and uses.
/// Threads: pure.
/// Errors: none; a line that is missing counts as 0.
/// Units: bytes.
/// Source: proc(5).

#include <cstdint>
#include <optional>
#include <string>

namespace splitlet::gc {

struct MemoryStats {
  uint64_t total = 0, available = 0, usage = 0, working_set = 0, rss = 0;
  uint64_t swap_total = 0, swap_used = 0;
};
/// `meminfo`: of /proc/meminfo. Available is the total less the working set, as in a kubelet.
std::optional<MemoryStats> MemoryOf(const std::string& meminfo);

}  // namespace splitlet::gc
