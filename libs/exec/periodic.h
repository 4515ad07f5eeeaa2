#pragma once

/// What is done again and again on a loop, in step with all other processes of the machine.
/// Threads: the loop's.

#include "libs/exec/exec.h"

namespace splitlet::exec {

/// How long from `now` (CLOCK_MONOTONIC) to the next round of something done every `period`: at
/// most that long, and to the end of a whole second, or of a fraction that the period is. So the
/// rounds of all processes wake the machine together. Other periods stay as they are.
Duration UntilRound(Duration now, Duration period);

/// Runs `task` on the loop every `period` until destroyed, the first time as UntilRound says; also
/// soon after Kick(). Loop thread only.
class Periodic {
 public:
  Periodic(EventLoop& loop, Duration period, Task task);
  ~Periodic();
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;
  void SetPeriod(Duration period);  ///< from the next round on
  void Kick();                      ///< runs soon, then as before

 private:
  void Arm(Duration delay);
  EventLoop& loop_;
  Duration period_;
  Task task_;
  TimerId timer_ = 0;
};

}  // namespace splitlet::exec
