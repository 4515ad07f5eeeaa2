#pragma once

/// Decides when a process gives unused memory back to the machine: once after each burst of work,
/// when the process is idle. Under load the process would need the same pages again immediately.
/// Threads: one; nothing fails.
/// Units: CPU time of all threads of the process.

#include "libs/base/clock.h"

namespace splitlet::daemon {

class IdleTrim {
 public:
  static constexpr Duration kBurst = 200ms;  // CPU time since the last trim that makes one due
  static constexpr Duration kIdle = 20ms;    // most CPU time of an idle round
  static constexpr int kIdleRounds = 5;      // in a row, before the trim
  static constexpr int kMostRounds = 60;     // for a process that is never idle

  /// Call it once a second. `used`: CPU time since the start of the process. True: trim now.
  bool IsDue(Duration used);

 private:
  Duration used_{0};           // at the last round
  Duration trimmed_{-kBurst};  // CPU time at the last trim; the start counts as a burst
  int idle_ = 0;               // rounds in a row
  int waits_ = 0;              // rounds since the burst
};

}  // namespace splitlet::daemon
