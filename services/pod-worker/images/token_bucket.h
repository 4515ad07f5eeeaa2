#pragma once

/// Bounds how often pulls may begin: a rate per second, and a burst.
/// Threads: one at a time.
/// Errors:  none.
/// Source:  docs/behaviour/images.md, "Pulls".

#include <algorithm>

#include "libs/base/clock.h"

namespace splitlet::pod_worker {

class TokenBucket {
 public:
  /// `per_second` 0: no limit.
  TokenBucket(const Clock& clock, double per_second, double burst)
      : clock_(clock), per_second_(per_second), burst_(burst), tokens_(burst), at_(clock.Now()) {}
  bool Take() {
    if (per_second_ <= 0) return true;
    const Clock::Time now = clock_.Now();
    tokens_ = TokensAt(now);
    at_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  /// How long until Take succeeds.
  Duration NextIn() const {
    if (per_second_ <= 0) return Duration{0};
    const double missing = 1 - TokensAt(clock_.Now());
    if (missing <= 0) return Duration{0};
    return std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(missing / per_second_));
  }

 private:
  double TokensAt(Clock::Time now) const {
    return std::min(burst_,
                    tokens_ + per_second_ * std::chrono::duration<double>(now - at_).count());
  }
  const Clock& clock_;
  double per_second_, burst_, tokens_;
  Clock::Time at_;
};

}  // namespace splitlet::pod_worker
