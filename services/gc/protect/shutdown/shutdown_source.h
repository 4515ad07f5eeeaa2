#pragma once

/// What says that the machine is about to go down, and waits with that while it is asked to.
/// Threads: one at a time; calls block up to their deadline. What it tells comes on any thread.
/// Errors: UNAVAILABLE when it is not there; after `on_lost` every call fails until Connect.
/// Source: org.freedesktop.login1(5).

#include <functional>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::gc {

class ShutdownSource {
 public:
  struct Events {
    std::function<void(bool preparing)> on_preparing;  // false: it does not go down after all
    std::function<void(const Status& why)> on_lost;
  };
  struct State {
    bool preparing = false;
    Duration max_delay{0};  // it does not wait longer, whatever it is asked
  };
  virtual ~ShutdownSource() = default;
  /// Anew, also when it was lost. From the state on no change is missed.
  virtual StatusOr<State> Connect(Events events, const Deadline& deadline) = 0;
  virtual StatusOr<Duration> ReadMaxDelay(const Deadline& deadline) = 0;
  /// It reads its settings again, soon.
  virtual Status Reload(const Deadline& deadline) = 0;
  /// It waits until the lock is released, or this process ends. One that is held is replaced.
  virtual Status TakeLock(const Deadline& deadline) = 0;
  virtual void ReleaseLock() = 0;
};

}  // namespace splitlet::gc
