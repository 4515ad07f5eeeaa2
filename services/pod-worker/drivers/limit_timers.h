#pragma once

/// When the limit of volumes of each driver is read again: drivers whose CSIDriver object has
/// nodeAllocatableUpdatePeriodSeconds.
/// In:      the registered drivers; the periods of their CSIDriver objects.
/// Owns:    a timer for each driver with a period; without one, nothing.
/// Out:     on_due, the first time after one period.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  kubelet csi_plugin, MutableCSINodeAllocatableCount.

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "libs/exec/ask.h"
#include "libs/exec/env.h"

namespace splitlet::pod_worker {

class LimitTimers {
 public:
  using Period = std::optional<std::chrono::seconds>;
  /// The API server accepts no shorter period.
  static constexpr std::chrono::seconds kShortest{10};

  struct Deps {
    exec::Env env;
    /// Unset: the limit is not read again.
    std::function<Period(const std::string& driver)> period;
    std::function<void(const std::string& driver)> on_due;
  };
  explicit LimitTimers(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  /// The registered drivers, or the periods, may have changed. A timer whose period has not changed
  /// runs on.
  void Update(const std::set<std::string>& drivers);

 private:
  struct Timer {
    std::chrono::seconds period;
    exec::TimerId id = 0;
  };
  void Arm(const std::string& driver);

  const Deps deps_;
  std::map<std::string, Timer> timers_;
  exec::Asker asker_;  // last: its end drops timers
};

}  // namespace splitlet::pod_worker
