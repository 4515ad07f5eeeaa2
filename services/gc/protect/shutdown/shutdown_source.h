#pragma once

/// Announces a shutdown of the machine, and delays the shutdown while a lock is held.
/// Threads: one call at a time; calls block up to their deadline. Events come on any thread.
/// Errors: UNAVAILABLE without a connection; after `on_lost` every call fails until Connect.
/// Source: org.freedesktop.login1(5).

#include <functional>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::gc {

class ShutdownSource {
 public:
  struct Events {
    std::function<void(bool preparing)> on_preparing;  // false: the shutdown was cancelled
    std::function<void(const Status& why)> on_lost;
  };
  struct State {
    bool preparing = false;
    Duration max_delay{0};  // the source delays a shutdown no longer than this
  };
  virtual ~ShutdownSource() = default;
  /// Connects, also again after `on_lost`. Every change after the returned state comes as an event.
  virtual StatusOr<State> Connect(Events events, const Deadline& deadline) = 0;
  virtual StatusOr<Duration> ReadMaxDelay(const Deadline& deadline) = 0;
  /// The source reads its settings again, some time after the call.
  virtual Status Reload(const Deadline& deadline) = 0;
  /// Delays a shutdown until ReleaseLock or the end of this process. Replaces a lock that is held.
  virtual Status TakeLock(const Deadline& deadline) = 0;
  virtual void ReleaseLock() = 0;
};

}  // namespace splitlet::gc
