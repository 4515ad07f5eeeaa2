#pragma once

/// Bounds the calls of one purpose: a bucket of `burst` that fills with `qps`. Shared by clients.
/// Threads: any; Wait blocks, so on strands alone, and Take does not.
/// Errors:  DEADLINE_EXCEEDED at once for one whose turn would come too late; CANCELLED.
/// Source:  client-go flowcontrol, kubeAPIQPS and kubeAPIBurst.

#include <mutex>

#include "libs/apiclient/waiting.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::apiclient {

class RateLimiter {
 public:
  /// `qps` above 0, `burst` at least 1. `wait` empty: by the machine's clock.
  RateLimiter(const Clock& clock, double qps, int burst, WaitUntil wait = nullptr);
  /// Until it is this one's turn; they come in the order in which they asked.
  Status Wait(const Deadline& deadline);
  /// Takes a turn, and says how long from now on it is to be waited for.
  StatusOr<Duration> Take(const Deadline& deadline);

 private:
  void GiveBack();

  const Clock& clock_;
  const double qps_;
  const double burst_;
  const WaitUntil wait_;
  std::mutex mutex_;
  double tokens_;  // below 0: what those who wait have taken in advance
  Clock::Time filled_;
};

}  // namespace splitlet::apiclient
