#pragma once

/// What the kernel says when a cgroup of version 1 uses more memory than a line that was set, so
/// that nobody has to look.
/// Threads: one at a time; calls do not wait. It rings on a thread of its own, which is there while
/// something is set, or on that of the caller.
/// Errors:  by errno (ErrnoStatus).
/// Units:   bytes.
/// Source:  cgroups(7).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::cgroup {

struct MemoryLine {
  std::string directory;  // of the cgroup, in the hierarchy of memory
  uint64_t bytes = 0;     // as memory.usage_in_bytes counts
  bool operator==(const MemoryLine&) const = default;
};

class MemoryAlarm {
 public:
  virtual ~MemoryAlarm() = default;
  /// Rings once: when one of these is reached, at once when one is already. Instead of what was set
  /// before, which rings no more; none: nothing is set.
  virtual Status Set(const std::vector<MemoryLine>& lines, std::function<void()> ring) = 0;
};

std::unique_ptr<MemoryAlarm> MakeMemoryAlarm();

}  // namespace splitlet::cgroup
