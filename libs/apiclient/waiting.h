#pragma once

/// Waiting on a strand for an answer or a turn: on the machine's clock, or on a test's virtual
/// time.
/// Threads: Open from any; Wait and Pause block, so on strands alone.
/// Errors:  none.

#include <condition_variable>
#include <functional>
#include <mutex>

#include "libs/base/clock.h"

namespace splitlet::apiclient {

/// Waits until `done` is true, or until the time `until` (then false). exec::Scheduler::WaitInStep
/// fits.
using WaitUntil = std::function<bool(Clock::Time until, const std::function<bool()>& done)>;

/// Closed at first; stays open once it is opened.
class Gate {
 public:
  void Open();
  bool IsOpen() const;
  /// Returns false if the gate is still closed at `until`. Without `wait` it uses the machine's
  /// clock.
  bool Wait(const Clock& clock, const WaitUntil& wait, Clock::Time until) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable opened_;
  bool open_ = false;
};

/// Waits for `duration`. False: the deadline's token was cancelled. Ignores the deadline's time.
bool Pause(const Clock& clock, const WaitUntil& wait, Duration duration, const Deadline& deadline);

}  // namespace splitlet::apiclient
