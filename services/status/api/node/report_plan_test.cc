#include "services/status/api/node/report_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/node.pb.h"

namespace splitlet::status {
namespace {

TEST(ReportPlan, TheWaitToRegisterDoublesUpToSevenSeconds) {
  Duration wait{0};
  for (const Duration want : {200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 7000ms, 7000ms}) {
    wait = RegisterWait(wait);
    EXPECT_EQ(wait, want);
  }
}

TEST(ReportPlan, AChangedConditionIsReportedSoonerUntilTheNodeWasReady) {
  const struct {
    const char* name;
    std::optional<Duration> since;
    bool was_ready;
    Duration want;
  } kCases[] = {
      {"no round yet", std::nullopt, false, 0s},
      {"just after a round", 0s, false, 100ms},
      {"within the wait", 30ms, false, 70ms},
      {"after the wait", 5s, false, 0s},
      {"of a node that was Ready", 0s, true, 1s},
      {"of a node that was Ready, within the wait", 400ms, true, 600ms},
      {"of a node that was Ready, after the wait", 1s, true, 0s},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(KickDelay(c.since, c.was_ready), c.want);
  }
}

TEST(ReportPlan, VolumesWaitTwentyMillisecondsAndATenthOfASecondAfterTheLastRound) {
  EXPECT_EQ(VolumesDelay(std::nullopt), 20ms);
  EXPECT_EQ(VolumesDelay(0ms), 100ms);
  EXPECT_EQ(VolumesDelay(70ms), 30ms);
  EXPECT_EQ(VolumesDelay(90ms), 20ms);
  EXPECT_EQ(VolumesDelay(1min), 20ms);
}

TEST(ReportPlan, ANodeIsReportedOnceInAPeriodAtLeast) {
  const Clock::Time last{.boot = 1, .monotonic = 100s};
  EXPECT_TRUE(IsReportDue({}, last, 5min));
  EXPECT_FALSE(IsReportDue(last, last + 299s, 5min));
  EXPECT_TRUE(IsReportDue(last, last + 300s, 5min));
}

TEST(ReportPlan, TheDelayIsUpToHalfAPeriodSoonerOrLater) {
  EXPECT_EQ(ReportDelay(5min, 0), -150s);
  EXPECT_EQ(ReportDelay(5min, 0.5), 0s);
  EXPECT_EQ(ReportDelay(5min, 1), 150s);
}

kube::Node NodeOfVersion(const std::string& version) {
  kube::Node node;
  node.mutable_metadata()->set_resource_version(version);
  return node;
}

TEST(ReportPlan, VersionsThatDoNotCompareAreNotOlder) {
  EXPECT_TRUE(IsOlder(NodeOfVersion("9"), NodeOfVersion("10")));
  EXPECT_FALSE(IsOlder(NodeOfVersion("10"), NodeOfVersion("10")));
  EXPECT_FALSE(IsOlder(NodeOfVersion("11"), NodeOfVersion("10")));
  EXPECT_FALSE(IsOlder(NodeOfVersion("x"), NodeOfVersion("10")));
  EXPECT_FALSE(IsOlder(NodeOfVersion(""), NodeOfVersion("10")));
}

kube::Node NodeWith(const std::vector<std::pair<std::string, std::string>>& conditions) {
  kube::Node node;
  for (const auto& [type, status] : conditions) {
    auto& condition = *node.mutable_status()->add_conditions();
    condition.set_type(type);
    condition.set_status(status);
  }
  return node;
}

TEST(ReportPlan, ANewNodeGetsAnEventForEachKnownConditionButReady) {
  EXPECT_THAT(EventsOfNewNode(NodeWith({{"MemoryPressure", "False"},
                                        {"DiskPressure", "True"},
                                        {"PIDPressure", "Unknown"},
                                        {"NetworkUnavailable", "False"},
                                        {"Ready", "False"}})),
              testing::ElementsAre("NodeHasSufficientMemory", "NodeHasDiskPressure"));
}

TEST(ReportPlan, ANodeIsReadyByItsConditionAlone) {
  EXPECT_TRUE(IsNodeReady(NodeWith({{"DiskPressure", "True"}, {"Ready", "True"}})));
  EXPECT_FALSE(IsNodeReady(NodeWith({{"Ready", "Unknown"}})));
  EXPECT_FALSE(IsNodeReady(NodeWith({{"DiskPressure", "True"}})));
}

}  // namespace
}  // namespace splitlet::status
