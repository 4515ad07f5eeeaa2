#pragma once

/// Wait before the next connection: 50 to 100 ms at first, doubling to 1 to 2 s. A connection that
/// ended soon counts as failed, so that a server that drops each one is not flooded.
/// Threads: one; nothing fails.

#include <algorithm>

#include "libs/base/clock.h"
#include "libs/base/random.h"

namespace splitlet::bus {

class ReconnectWait {
 public:
  static constexpr Duration kFirst = 50ms, kLongest = 1s, kHeld = 5s;

  explicit ReconnectWait(uint64_t seed) : random_(seed) {}
  /// `held`: how long the connection stood; 0 if there was none.
  Duration Next(Duration held) {
    if (held >= kHeld) step_ = kFirst;
    const Duration wait = random_.Jitter(step_, 1.0);
    step_ = std::min(step_ * 2, kLongest);
    return wait;
  }

 private:
  Random random_;
  Duration step_ = kFirst;
};

}  // namespace splitlet::bus
