#pragma once

/// The kernel's notification when a cgroup of version 1 uses more memory than a line, instead of
/// polling.
/// Threads: one at a time; calls do not wait. It rings on an own thread, which exists while a line
/// is set, or on the caller's.
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
  /// Rings once: when one of these lines is reached, immediately if one is already. Replaces the
  /// earlier lines, which ring no more; empty: no line is set.
  virtual Status Set(const std::vector<MemoryLine>& lines, std::function<void()> ring) = 0;
};

std::unique_ptr<MemoryAlarm> MakeMemoryAlarm();

}  // namespace splitlet::cgroup
