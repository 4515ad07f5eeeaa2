#include "services/pod-worker/pod/crash_backoff.h"

#include <gtest/gtest.h>

#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(CrashBackoff, DoublesAndStopsAtFiveMinutes) {
  FakeClock clock;
  CrashBackoff backoff(300s);
  int exit = 0;
  for (const Duration want : {0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    const CrashBackoff::Exit dead{std::to_string(++exit), 0s};
    EXPECT_EQ(backoff.WaitAfter("key", dead, clock.Now()).left, want);
    clock.Advance(want);
    EXPECT_EQ(backoff.WaitAfter("key", {dead.id, want}, clock.Now()).left, 0s);
    EXPECT_TRUE(backoff.Advance("key", {dead.id, want}, clock.Now()));
  }
}

TEST(CrashBackoff, TenGoodMinutesAreForgiven) {
  FakeClock clock;
  CrashBackoff backoff;
  backoff.Advance("key", {"1", 0s}, clock.Now());
  backoff.Advance("key", {"2", 0s}, clock.Now());
  clock.Advance(660s);
  EXPECT_EQ(backoff.WaitAfter("key", {"3", 0s}, clock.Now()).left, 0s);
  backoff.Advance("key", {"3", 0s}, clock.Now());
  EXPECT_EQ(backoff.entries().at("key").delay, 10s);
}

TEST(CrashBackoff, AnExitAnsweredBeforeACrashIsNotWaitedForAgain) {
  FakeClock clock;
  CrashBackoff backoff;
  backoff.Advance("key", {"1", 0s}, clock.Now());
  EXPECT_EQ(backoff.WaitAfter("key", {"1", 0s}, clock.Now()).left, 0s);
  EXPECT_FALSE(backoff.Advance("key", {"1", 0s}, clock.Now()));
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 10s);
}

TEST(CrashBackoff, AWallClockThatStaysBehindCannotLengthenAWait) {
  FakeClock clock;
  CrashBackoff backoff(5s);
  backoff.Advance("key", {"1", 0s}, clock.Now());
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 5s);
  clock.Advance(3s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 2s);
  clock.Advance(2s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 0s);
}

TEST(CrashBackoff, AWallClockThatRunsAheadCannotShortenAWait) {
  FakeClock clock;
  CrashBackoff backoff;
  backoff.Advance("key", {"1", 1h}, clock.Now());
  clock.Advance(2s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 1h}, clock.Now()).left, 8s)
      << "it cannot have ended before it was started";
  clock.Advance(8s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 1h}, clock.Now()).left, 0s);
}

TEST(CrashBackoff, AnotherImageOrOtherResourcesAreAnotherKey) {
  kube::Pod pod = TestPod{}.Make();
  auto& container = *pod.mutable_spec()->mutable_containers(0);
  const std::string before = BackoffKey(pod, container);
  (*container.mutable_resources()->mutable_limits())["cpu"].set_string("1");
  const std::string limited = BackoffKey(pod, container);
  container.set_image("other");
  EXPECT_NE(before, limited);
  EXPECT_NE(limited, BackoffKey(pod, container));
}

TEST(CrashBackoff, PrintsAsPeopleKnowIt) {
  EXPECT_EQ(FormatSeconds(10s), "10s");
  EXPECT_EQ(FormatSeconds(80s), "1m20s");
  EXPECT_EQ(FormatSeconds(300s), "5m0s");
  EXPECT_EQ(FormatMillis(850ms), "850ms");
  EXPECT_EQ(FormatMillis(1234ms), "1.234s");
  EXPECT_EQ(FormatMillis(123004ms), "2m3.004s");
  EXPECT_EQ(FormatMillis(2000ms), "2s");
}

}  // namespace
}  // namespace splitlet::pod_worker
