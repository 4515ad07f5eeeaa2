#include "services/pod-worker/images/pull_queue.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

/// 0: none.
PullId Take(PullQueue& queue, PullId unwanted = 0) {
  return queue.TakeNext([&](PullId pull) { return pull != unwanted; }).value_or(0);
}

TEST(PullQueue, TokensAreTakenAsPullsBegin) {
  FakeClock clock;
  PullQueue queue(clock, {.per_second = 5, .burst = 2});
  for (const PullId pull : {1, 2, 3, 4}) queue.Add(pull);
  EXPECT_EQ(Take(queue), 1u);
  EXPECT_EQ(Take(queue), 2u);
  EXPECT_EQ(Take(queue), 0u);
  EXPECT_EQ(queue.NextIn(), 200ms);
  clock.Advance(200ms);
  EXPECT_EQ(Take(queue, 3), 4u) << "a dropped pull takes no token";
  EXPECT_FALSE(queue.NextIn());
  clock.Advance(10s);
  for (const PullId pull : {5, 6, 7}) queue.Add(pull);
  EXPECT_EQ(Take(queue), 5u);
  EXPECT_EQ(Take(queue), 6u);
  EXPECT_EQ(Take(queue), 0u) << "time that passed gives no more than a burst";
}

TEST(PullQueue, NoMoreAtOnceThanAllowed) {
  FakeClock clock;
  PullQueue queue(clock, {.at_once = 2});
  for (const PullId pull : {1, 2, 3}) queue.Add(pull);
  EXPECT_EQ(Take(queue), 1u);
  EXPECT_EQ(Take(queue), 2u);
  EXPECT_EQ(Take(queue), 0u);
  EXPECT_FALSE(queue.NextIn()) << "no time helps, only one that ends";
  queue.Done();
  EXPECT_EQ(Take(queue), 3u);
}

}  // namespace
}  // namespace splitlet::pod_worker
