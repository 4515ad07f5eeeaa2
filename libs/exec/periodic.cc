#include "libs/exec/periodic.h"

#include <algorithm>
#include <utility>

namespace splitlet::exec {

Duration UntilRound(Duration now, Duration period) {
  constexpr Duration kWhole = 1s;
  if (period <= Duration{0} || (period % kWhole != Duration{0} && kWhole % period != Duration{0}))
    return period;
  return period - now % std::min(period, kWhole);
}

Periodic::Periodic(EventLoop& loop, Duration period, Task task)
    : loop_(loop), period_(period), task_(std::move(task)) {
  Arm(UntilRound(loop_.Monotonic(), period_));
}

Periodic::~Periodic() { loop_.CancelTimer(timer_); }

void Periodic::SetPeriod(Duration period) { period_ = period; }

void Periodic::Kick() {
  loop_.CancelTimer(timer_);
  Arm(Duration{0});
}

void Periodic::Arm(Duration delay) {
  timer_ = loop_.RunAfter(delay, [this] {
    Arm(UntilRound(loop_.Monotonic(), period_));  // before the task, which may destroy this
    const Task task = task_;
    task();
  });
}

}  // namespace splitlet::exec
