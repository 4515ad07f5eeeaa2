#pragma once

/// When a failed operation on a volume is tried again.
/// Threads: values, any; nothing fails.
/// Source:  kubelet exponentialbackoff.

#include <algorithm>
#include <chrono>

#include "libs/base/clock.h"

namespace splitlet::pod_worker {

class VolumeBackoff {
 public:
  static constexpr Duration kFirst = std::chrono::milliseconds{500};
  static constexpr Duration kLast = std::chrono::seconds{122};

  void OnFailed(Clock::Time now) {
    wait_ = wait_ == Duration{0} ? kFirst : std::min(wait_ * 2, kLast);
    until_ = now + wait_;
  }
  void Clear() { *this = {}; }
  /// 0: it may begin.
  Duration Left(Clock::Time now) const {
    return wait_ == Duration{0} ? Duration{0} : std::max(Duration{0}, until_ - now);
  }
  /// The obstacle is gone, so the next try begins immediately; another failure still doubles the
  /// wait.
  void TryNow(Clock::Time now) { until_ = now; }

 private:
  Duration wait_{0};
  Clock::Time until_;
};

}  // namespace splitlet::pod_worker
