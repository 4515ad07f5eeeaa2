#pragma once

/// How a strand waits for an answer, or for its turn: on the machine's clock, or as a test with
/// virtual time has it.
/// Threads: Open from any; Wait and Pause block, so on strands alone.
/// Errors:  none.

#include <condition_variable>
#include <functional>
#include <mutex>

#include "libs/base/clock.h"

namespace splitlet::apiclient {

/// Waits until `done` holds, or `until` has come: then false. exec::Scheduler::WaitInStep is one.
using WaitUntil = std::function<bool(Clock::Time until, const std::function<bool()>& done)>;

/// Closed at first; once open it stays so.
class Gate {
 public:
  void Open();
  bool IsOpen() const;
  /// False: it is closed still when `until` has come. `wait` empty: by the machine's clock.
  bool Wait(const Clock& clock, const WaitUntil& wait, Clock::Time until) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable opened_;
  bool open_ = false;
};

/// Lets `duration` pass. False: the deadline's token was cancelled on the way. The deadline's time
/// is not looked at.
bool Pause(const Clock& clock, const WaitUntil& wait, Duration duration, const Deadline& deadline);

}  // namespace splitlet::apiclient
