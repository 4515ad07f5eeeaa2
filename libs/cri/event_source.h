#pragma once

/// Container events for a loop thread, which must not block. StreamThread (event_stream.h) follows
/// a runtime's stream; FakeEventSource needs no thread. `on_end` reports errors.
/// Threads: Start and Stop from one thread.

#include <functional>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"

namespace splitlet::cri {

/// Keeps one stream at a time; Start does not block.
class EventSource {
 public:
  struct Callbacks {
    std::function<void()> on_open;
    std::function<void(const ContainerEvent&)> on_event;
    std::function<void(const Status&)> on_end;  // called once, even if the stream never opened
  };
  virtual ~EventSource() = default;
  /// The callbacks run on any thread, `on_open` and `on_end` possibly before Start returns.
  virtual void Start(Callbacks callbacks, Duration open_limit) = 0;
  /// No callback runs after Stop.
  virtual void Stop() = 0;
};

}  // namespace splitlet::cri
