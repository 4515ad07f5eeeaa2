#pragma once

/// The kernel's notification when the memory use of a version 1 cgroup crosses a threshold, instead
/// of polling.
/// Threads: one at a time; calls do not wait. The callback runs on a separate thread, which exists
/// while a threshold is set, or on the caller's thread.
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
  std::string directory;  // the cgroup's directory in the memory hierarchy
  uint64_t bytes = 0;     // in the units of memory.usage_in_bytes
  bool operator==(const MemoryLine&) const = default;
};

class MemoryAlarm {
 public:
  virtual ~MemoryAlarm() = default;
  /// Rings once when usage reaches one of these lines, immediately if it already has. Replaces the
  /// earlier lines, which ring no more; empty: no line is set.
  virtual Status Set(const std::vector<MemoryLine>& lines, std::function<void()> ring) = 0;
};

std::unique_ptr<MemoryAlarm> MakeMemoryAlarm();

}  // namespace splitlet::cgroup
