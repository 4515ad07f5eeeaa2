#include "services/pod-worker/images/pull_queue.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

std::string Take(PullQueue& queue, const std::string& unwanted = {}) {
  const auto pull = queue.TakeNext([&](const PullRequest& p) { return p.uid != unwanted; });
  return pull ? pull->uid : "";
}

TEST(PullQueue, TokensAreTakenAsPullsBegin) {
  FakeClock clock;
  PullQueue queue(clock, {.per_second = 5, .burst = 2});
  for (const char* uid : {"a", "b", "c", "d"}) queue.Add({.uid = uid});
  EXPECT_EQ(Take(queue), "a");
  EXPECT_EQ(Take(queue), "b");
  EXPECT_EQ(Take(queue), "");
  EXPECT_EQ(queue.NextIn(), 200ms);
  clock.Advance(200ms);
  EXPECT_EQ(Take(queue, "c"), "d") << "what nobody wants any more takes no token";
  EXPECT_FALSE(queue.NextIn());
  clock.Advance(10s);
  for (const char* uid : {"e", "f", "g"}) queue.Add({.uid = uid});
  EXPECT_EQ(Take(queue), "e");
  EXPECT_EQ(Take(queue), "f");
  EXPECT_EQ(Take(queue), "") << "time that passed gives no more than a burst";
}

TEST(PullQueue, NoMoreAtOnceThanAllowed) {
  FakeClock clock;
  PullQueue queue(clock, {.at_once = 2});
  for (const char* uid : {"a", "b", "c"}) queue.Add({.uid = uid});
  EXPECT_EQ(Take(queue), "a");
  EXPECT_EQ(Take(queue), "b");
  EXPECT_EQ(Take(queue), "");
  EXPECT_FALSE(queue.NextIn()) << "no time helps, only one that ends";
  queue.Done();
  EXPECT_EQ(Take(queue), "c");
}

}  // namespace
}  // namespace splitlet::pod_worker
