#include "libs/apiclient/rate_limiter.h"

#include <gtest/gtest.h>

#include <vector>

#include "libs/base/cancel.h"

namespace splitlet::apiclient {
namespace {

class Limited : public testing::Test {
 protected:
  /// Time passes only here, unless the caller gives up.
  WaitUntil Wait() {
    return [this](Clock::Time until, const std::function<bool()>& done) {
      if (on_wait) on_wait();
      if (done()) return true;
      clock.Advance(until - clock.Now());
      return done();
    };
  }
  FakeClock clock;
  std::function<void()> on_wait;
};

TEST_F(Limited, ABurstGoesAtOnceAndTheRestAtItsRate) {
  RateLimiter limiter(clock, 5, 3, Wait());
  const auto begun = clock.Now();
  std::vector<int64_t> at;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(limiter.Wait(After(clock, 10s)).ok());
    at.push_back(std::chrono::round<std::chrono::milliseconds>(clock.Now() - begun).count());
  }
  EXPECT_EQ(at, (std::vector<int64_t>{0, 0, 0, 200, 400, 600}));
}

TEST_F(Limited, TheBucketFillsAgainUpToItsBurst) {
  RateLimiter limiter(clock, 10, 2, Wait());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(limiter.Wait(After(clock, 1s)).ok());
  clock.Advance(1h);
  const auto begun = clock.Now();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(limiter.Wait(After(clock, 1s)).ok());
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(clock.Now() - begun), 100ms);
}

TEST_F(Limited, WhoseTurnComesTooLateHearsItAtOnceAndTakesNothing) {
  RateLimiter limiter(clock, 1, 1, Wait());
  ASSERT_TRUE(limiter.Wait(After(clock, 1s)).ok());
  const auto begun = clock.Now();
  EXPECT_EQ(limiter.Wait(After(clock, 500ms)).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(clock.Now(), begun);
  ASSERT_TRUE(limiter.Wait(After(clock, 1001ms)).ok());
}

TEST_F(Limited, WhoGivesUpGivesItsTurnBack) {
  RateLimiter limiter(clock, 1, 1, Wait());
  ASSERT_TRUE(limiter.Wait(After(clock, 1s)).ok());
  const auto token = std::make_shared<CancelToken>();
  on_wait = [&] { token->Cancel(); };
  EXPECT_EQ(limiter.Wait({clock.Now() + 10s, token}).code(), StatusCode::kCancelled);
  on_wait = nullptr;
  EXPECT_TRUE(limiter.Wait(After(clock, 1001ms)).ok());
}

TEST_F(Limited, OnTheMachinesClockItIsWaitedForReally) {
  const RealClock real;
  RateLimiter limiter(real, 200, 1);
  const auto begun = real.Now();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(limiter.Wait(After(real, 10s)).ok());
  EXPECT_GE(real.Now() - begun, 9ms);
}

}  // namespace
}  // namespace splitlet::apiclient
