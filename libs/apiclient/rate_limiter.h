#pragma once

/// Bounds the calls of one purpose: a bucket of `burst` that fills with `qps`. Shared by clients.
/// Threads: any. Wait blocks, so only strands call it; Take does not block.
/// Errors:  DEADLINE_EXCEEDED immediately if the turn would come too late; CANCELLED.
/// Source:  client-go flowcontrol, kubeAPIQPS and kubeAPIBurst.

#include <mutex>

#include "libs/apiclient/waiting.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::apiclient {

class RateLimiter {
 public:
  /// `qps` above 0, `burst` at least 1. An empty `wait` uses the machine's clock.
  RateLimiter(const Clock& clock, double qps, int burst, WaitUntil wait = nullptr);
  /// Waits for the caller's turn; turns come in the order of the calls.
  Status Wait(const Deadline& deadline);
  /// Takes a turn, and returns the time until the turn.
  StatusOr<Duration> Take(const Deadline& deadline);

 private:
  void GiveBack();

  const Clock& clock_;
  const double qps_;
  const double burst_;
  const WaitUntil wait_;
  std::mutex mutex_;
  double tokens_;  // negative: turns that waiting callers took in advance
  Clock::Time filled_;
};

}  // namespace splitlet::apiclient
