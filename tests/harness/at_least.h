#pragma once

/// How long a test of a race goes on: its own number of tries, or for the seconds that
/// SPLITLET_SWAP_SECONDS asks for.
/// Threads: any.
/// Errors:  what is no number counts as not given.

#include <chrono>
#include <cstdlib>

#include "libs/base/clock.h"

namespace splitlet::harness {

class AtLeast {
 public:
  explicit AtLeast(int tries) : tries_(tries) {}
  /// `done`: tries.
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
