#include "libs/apiclient/rate_limiter.h"

#include <algorithm>
#include <utility>

namespace splitlet::apiclient {

RateLimiter::RateLimiter(const Clock& clock, double qps, int burst, WaitUntil wait)
    : clock_(clock),
      qps_(qps),
      burst_(burst),
      wait_(std::move(wait)),
      tokens_(burst),
      filled_(clock.Now()) {
  CHECK(qps > 0 && burst >= 1, "{} a second, {} at once", qps, burst);
}

Status RateLimiter::Wait(const Deadline& deadline) {
  const auto turn = Take(deadline);
  if (!turn.ok()) return turn.status();
  if (*turn == Duration{0} || Pause(clock_, wait_, *turn, deadline)) return OkStatus();
  GiveBack();
  return Cancelled("cancelled while waiting for the rate limit");
}

StatusOr<Duration> RateLimiter::Take(const Deadline& deadline) {
  const std::lock_guard lock(mutex_);
  const Clock::Time now = clock_.Now();
  const double passed = std::chrono::duration<double>(now - filled_).count();
  tokens_ = std::min(burst_, tokens_ + passed * qps_);
  filled_ = now;
  const double missing = std::max(0.0, 1 - tokens_);
  const auto turn = std::chrono::ceil<Duration>(std::chrono::duration<double>(missing / qps_));
  if (turn > Duration{0} && now + turn > deadline.at)
    return DeadlineExceeded("the client's rate limit would delay the request beyond its deadline");
  tokens_ -= 1;
  return turn;
}

void RateLimiter::GiveBack() {
  const std::lock_guard lock(mutex_);
  tokens_ += 1;
}

}  // namespace splitlet::apiclient
