#include "services/pod-worker/termination/stop_order.h"

#include <gtest/gtest.h>

#include "services/pod-worker/pod/grace.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

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
      {"more than time can hold", {.spec_seconds = INT64_MAX}, kMaxGrace},
      {"less than nothing", {.deletion_seconds = INT64_MIN}, 1},
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
  EXPECT_EQ(RestartGrace(TestPod{.grace = INT64_MAX}.Make()), kMaxGrace);
}

TEST(StopOrder, SidecarsLastInReverse) {
  const kube::Pod pod =
      TestPod{.containers = {"a", "b"}, .inits = {"s1", "s2"}, .sidecars = {"s1", "s2"}}.Make();
  const auto seen = Observed({{.name = "a"},
                              {.name = "b", .state = Record::EXITED},
                              {.name = "s1"},
                              {.name = "s2", .state = Record::UNKNOWN}});
  std::vector<std::vector<std::string>> names;
  for (const auto& step : StopOrder(&pod, seen)) {
    names.emplace_back();
    for (const auto& stop : step) names.back().push_back(stop.name);
  }
  EXPECT_EQ(names, (std::vector<std::vector<std::string>>{{"a"}, {"s2"}, {"s1"}}));
  EXPECT_EQ(StopOrder(nullptr, seen).size(), 1u);
  EXPECT_TRUE(StopOrder(&pod, Observed({})).empty());
}

/// "a,debug(aside) s".
std::string Steps(const kube::Pod& pod, const std::vector<TestRecord>& records) {
  std::string text;
  for (const auto& step : StopOrder(&pod, Observed(records))) {
    if (!text.empty()) text += " ";
    for (const auto& stop : step)
      text += (&stop == &step.front() ? "" : ",") + stop.name + (stop.aside ? "(aside)" : "");
  }
  return text;
}

TEST(StopOrder, NobodyWaitsForAnEphemeralContainer) {
  kube::Pod pod = TestPod{.containers = {"a"}, .inits = {"s"}, .sidecars = {"s"}}.Make();
  pod.mutable_spec()->add_ephemeral_containers()->mutable_ephemeral_container_common()->set_name(
      "debug");
  EXPECT_EQ(Steps(pod, {{.name = "debug"}, {.name = "a"}, {.name = "s"}}), "a,debug(aside) s");
  EXPECT_EQ(Steps(pod, {{.name = "debug"}, {.name = "s"}}), "s,debug(aside)");
  EXPECT_EQ(Steps(pod, {{.name = "debug"}}), "debug(aside)");
}

}  // namespace
}  // namespace splitlet::pod_worker
