#pragma once

/// Length of a test for a race: a number of attempts, or the seconds in SPLITLET_SWAP_SECONDS.
/// Threads: any.
/// Errors:  a value that is not a number is ignored.

#include <chrono>
#include <cstdlib>

#include "libs/base/clock.h"

namespace splitlet::harness {

class AtLeast {
 public:
  explicit AtLeast(int tries) : tries_(tries) {}
  /// `done`: attempts so far.
  bool GoesOn(int done) const { return done < tries_ || clock_.Now() < until_; }
  static std::chrono::seconds Asked() {
    const char* const given = std::getenv("SPLITLET_SWAP_SECONDS");
    return std::chrono::seconds{given == nullptr ? 0 : std::atoi(given)};
  }

 private:
  const int tries_;
  const RealClock clock_;
  const Clock::Time until_ = clock_.Now() + Asked();
};

}  // namespace splitlet::harness
