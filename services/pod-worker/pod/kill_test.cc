#include "services/pod-worker/pod/kill.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

const Clock::Time kOrdered{.boot = 7, .monotonic = 100s};

KillChange Ordered(const KillOrder& order, Kill& kill, const PodTraits& traits = {},
                   bool first = false) {
  return ApplyKill({.order = order, .traits = traits, .first = first, .now = kOrdered}, kill);
}

TEST(Kill, TheDeadlineComesOnlyNearer) {
  Kill kill;
  EXPECT_FALSE(Ordered({.asked_grace = 30}, kill).shortened) << "the first one shortens nothing";
  EXPECT_EQ(kill.deadline, kOrdered + 30s);
  EXPECT_FALSE(Ordered({.asked_grace = 60}, kill).shortened);
  EXPECT_EQ(kill.grace_seconds, 30);
  EXPECT_TRUE(Ordered({.asked_grace = 5}, kill).shortened);
  EXPECT_EQ(kill.deadline, kOrdered + 5s);
  EXPECT_EQ(kill.grace_seconds, 5);
}

TEST(Kill, TheFirstReasonAndTheFirstEvictionStay) {
  Kill kill;
  Ordered({.reason = "Preempting", .message = "first"}, kill);
  EXPECT_FALSE(kill.evicted());
  EXPECT_TRUE(Ordered({.reason = "Evicted", .eviction = Eviction::kForOwnLimit}, kill).evicts);
  EXPECT_FALSE(Ordered({.eviction = Eviction::kForNode}, kill).evicts);
  EXPECT_EQ(kill.eviction, Eviction::kForOwnLimit);
  EXPECT_EQ(kill.reason, "Preempting");
  EXPECT_EQ(kill.message, "first");
}

TEST(Kill, AShutdownEndsAStaticPodForThisBootOnly) {
  const KillOrder shutdown{.eviction = Eviction::kForNode, .node_shutdown = true};
  const struct {
    const char* name;
    bool is_static, runs_once, first;
    uint64_t want;
  } kCases[] = {
      {"a static pod", true, false, true, 7},
      {"a pod of an API server", false, false, true, 0},
      {"one that runs once", true, true, true, 0},
      {"one that ends already", true, false, false, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Kill kill;
    PodTraits traits;
    traits.is_static = c.is_static;
    traits.runs_once = c.runs_once;
    Ordered(shutdown, kill, traits, c.first);
    EXPECT_EQ(kill.shutdown_boot, c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
