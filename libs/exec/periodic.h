#pragma once

/// A repeated task on a loop, in step with the other processes of the machine.
/// Threads: the loop's.

#include "libs/exec/exec.h"

namespace splitlet::exec {

/// Time from `now` (CLOCK_MONOTONIC) to the next round of a task that runs every `period`. A round
/// comes at the end of a whole second, or of the fraction of a second that the period is, so that
/// the processes wake the machine together. Other periods stay as they are.
Duration UntilRound(Duration now, Duration period);

/// Runs `task` on the loop every `period` until destroyed; the first time is UntilRound's. Kick()
/// runs it soon. Loop thread only.
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
