#include "services/pod-worker/worker/worker_state.h"

#include <gtest/gtest.h>

#include "services/pod-worker/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(WorkerState, OnlyForward) {
  using enum WorkerState;
  using enum WorkerEvent;
  EXPECT_EQ(Next(kSyncing, kEndRequested), kTerminating);
  EXPECT_EQ(Next(kSyncing, kCompleted), kTerminating);
  EXPECT_EQ(Next(kSyncing, kAllStopped), kSyncing);
  EXPECT_EQ(Next(kTerminating, kEndRequested), kTerminating);
  EXPECT_EQ(Next(kTerminating, kAllStopped), kTerminated);
  EXPECT_EQ(Next(kTerminated, kCleanedUp), kFinished);
  for (const auto event : {kEndRequested, kCompleted, kAllStopped, kCleanedUp})
    EXPECT_EQ(Next(kFinished, event), kFinished);
}

TEST(Grace, OnlyEverShortened) {
  const struct {
    const char* name;
    GraceQuestion question;
    int64_t want;
  } kCases[] = {
      {"the spec's without anything else", {.spec_seconds = 30}, 30},
      {"the deletion's before the spec's", {.deletion_seconds = 10, .spec_seconds = 30}, 10},
      {"deletion 0 is 1", {.deletion_seconds = 0, .spec_seconds = 30}, 1},
      {"a kill may ask for less", {.left_seconds = 20, .asked_seconds = 5, .spec_seconds = 30}, 5},
      {"a kill may not ask for more",
       {.left_seconds = 5, .asked_seconds = 20, .spec_seconds = 30},
       5},
      {"the smaller of both", {.deletion_seconds = 10, .asked_seconds = 4}, 4},
      {"an explicit wish above the spec counts", {.asked_seconds = 60, .spec_seconds = 30}, 60},
      {"nothing known", {}, 2},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(EffectiveGrace(c.question), c.want);
  }
  FakeClock clock;
  EXPECT_EQ(StopSeconds(clock.Now() + 10s, clock.Now(), false), 10);
  EXPECT_EQ(StopSeconds(clock.Now() + 9500ms, clock.Now(), false), 10);
  EXPECT_EQ(StopSeconds(clock.Now() - 10s, clock.Now(), false), 2);
  EXPECT_EQ(StopSeconds(clock.Now() + 9500ms, clock.Now(), true), 10);
  EXPECT_EQ(StopSeconds(clock.Now() + 500ms, clock.Now(), true), 1);
  EXPECT_EQ(StopSeconds(clock.Now() - 10s, clock.Now(), true), 0);
  EXPECT_EQ(RestartGrace(TestPod{.grace = 7}.Make()), 7);
}

}  // namespace
}  // namespace splitlet::pod_worker
