#pragma once

/// Health that the loop thread published last, for other threads: health endpoints, metrics, Admin.
/// Live means that the loop turned in the last ten seconds.
/// Threads: any; nothing fails.

#include <mutex>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/bus/bus.h"
#include "libs/daemon/service.h"

namespace splitlet::daemon {

class ProcessHealth {
 public:
  static constexpr Duration kLiveLimit = std::chrono::seconds{10};

  struct Snapshot {
    Clock::Time turned_at;
    Health health{.ready = false, .reason = "starting"};
    bool bus_connected = false;
    std::vector<bus::ViewInfo> views;
    std::vector<std::string> notes;
  };

  explicit ProcessHealth(const Clock& clock) : clock_(clock) { snapshot_.turned_at = clock.Now(); }

  void Set(Snapshot snapshot) {
    const std::lock_guard lock(mutex_);
    snapshot_ = std::move(snapshot);
  }
  Snapshot Get() const {
    const std::lock_guard lock(mutex_);
    return snapshot_;
  }
  Duration Age() const { return clock_.Now() - Get().turned_at; }
  /// Ready gives the reason of Live, or else the service's.
  Health Live() const {
    const Duration age = Age();
    if (age <= kLiveLimit) return {};
    return {.ready = false,
            .reason = fmt::format("the event loop has not turned for {} s", age / 1s)};
  }
  Health Ready() const {
    Health live = Live();
    return live.ready ? Get().health : live;
  }

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  Snapshot snapshot_;
};

}  // namespace splitlet::daemon
