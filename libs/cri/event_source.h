#pragma once

/// Container events for a loop thread, which may not block. StreamThread (event_stream.h) follows a
/// runtime's stream; FakeEventSource needs no thread. Errors come by on_end.
/// Threads: Start and Stop from one thread.

#include <functional>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace splitlet::cri {

/// One stream at a time, without blocking whoever starts it.
class EventSource {
 public:
  struct Callbacks {
    std::function<void()> on_open;
    std::function<void(const ContainerEvent&)> on_event;
    std::function<void(const Status&)> on_end;  // once, also when it never opened
  };
  virtual ~EventSource() = default;
  /// The callbacks run on any thread, `on_open` and `on_end` perhaps before this returns.
  virtual void Start(Callbacks callbacks, Duration open_limit) = 0;
  /// No callback runs once it has returned.
  virtual void Stop() = 0;
};

}  // namespace splitlet::cri
