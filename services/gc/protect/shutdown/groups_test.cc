#include "services/gc/protect/shutdown/groups.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/gc/protect/shutdown/shutdown_times.h"

namespace splitlet::gc {
namespace {

using namespace std::chrono_literals;

constexpr int32_t kCritical = 2'000'000'000;

TEST(ShutdownGroups, OfThePlainSettings) {
  const struct {
    const char* name;
    Duration total, critical;
    ShutdownGroups want;
  } cases[] = {
      {"not set: pods do not end with the node", 0s, 0s, {}},
      {"all for pods that are not critical", 30s, 0s, {{0, 30}, {kCritical, 0}}},
      {"the tail for critical ones", 30s, 10s, {{0, 20}, {kCritical, 10}}},
      {"all for critical ones", 10s, 10s, {{0, 0}, {kCritical, 10}}},
      {"more for critical ones than there is", 10s, 20s, {}},
      {"whole seconds", 2500ms, 1s, {{0, 1}, {kCritical, 1}}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(PlainGroups(c.total, c.critical), c.want);
  }
}

TEST(ShutdownGroups, OfAListAreSorted) {
  EXPECT_EQ(SortedGroups({{1000, 5}, {-7, 10}, {0, 20}}),
            (ShutdownGroups{{-7, 10}, {0, 20}, {1000, 5}}));
  EXPECT_EQ(SortedGroups({{1000, 0}, {0, 0}}), ShutdownGroups{}) << "no time for anybody";
  EXPECT_EQ(TotalSeconds({{-7, 10}, {0, 20}, {1000, 5}}), 35);
}

TEST(ShutdownGroups, APodBelongsToTheHighestNotAboveItsPriority) {
  const ShutdownGroups groups = {{-10, 1}, {0, 1}, {1000, 1}, {kCritical, 1}};
  const struct {
    const char* name;
    int32_t priority;
    size_t want;
  } cases[] = {
      {"below all", INT32_MIN, 0}, {"just at the first", -10, 0},      {"between two", -1, 0},
      {"just at one", 0, 1},       {"below the next one", 999, 1},     {"at the next one", 1000, 2},
      {"critical", kCritical, 3},  {"above all", kCritical + 1000, 3},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(GroupOf(groups, c.priority), c.want);
  }
}

TEST(ShutdownGroups, ThePriorityOfAStaticPodMayBeANameOnly) {
  kube::Pod pod;
  EXPECT_EQ(PriorityOf(pod), 0);
  pod.mutable_spec()->set_priority_class_name("system-cluster-critical");
  EXPECT_EQ(PriorityOf(pod), kCritical);
  pod.mutable_spec()->set_priority_class_name("system-node-critical");
  EXPECT_EQ(PriorityOf(pod), kCritical + 1000);
  pod.mutable_spec()->set_priority(-5);
  EXPECT_EQ(PriorityOf(pod), -5) << "a number wins";
}

TEST(ShutdownGroups, GraceIsTheLesserOfGroupAndPod) {
  const struct {
    const char* name;
    int64_t pod, group, want;  // pod: negative for none
  } cases[] = {
      {"the pod wants less", 5, 20, 5},           {"the group has less", 30, 20, 20},
      {"the pod says nothing", -1, 20, 20},       {"the group has nothing", 30, 0, 1},
      {"the pod wants no time at all", 0, 20, 1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod;
    if (c.pod >= 0) pod.mutable_spec()->set_termination_grace_period_seconds(c.pod);
    EXPECT_EQ(ShutdownGrace(pod, c.group), c.want);
  }
}

TEST(ShutdownTimes, AreReadAsAKubeletWritesThem) {
  const auto times = DecodeTimes(
      R"({"startTime":"2026-03-01T10:00:00.123456789+02:00","endTime":"0001-01-01T00:00:00Z"})");
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(FormatRfc3339Micro(times->start.value()), "2026-03-01T08:00:00.123456Z");
  EXPECT_FALSE(times->end) << "it goes on";
  EXPECT_EQ(EncodeTimes({}),
            R"({"startTime":"0001-01-01T00:00:00Z","endTime":"0001-01-01T00:00:00Z"})");
  const ShutdownTimes both{WallFromNanos(1'700'000'000'000'000'000),
                           WallFromNanos(1'700'000'030'500'000'000)};
  EXPECT_EQ(*DecodeTimes(EncodeTimes(both)), both);
}

TEST(ShutdownTimes, WhatIsNoStateIsSaidSo) {
  for (const char* text :
       {"", "{}", R"({"startTime":"2026-03-01T10:00:00Z"})",
        R"({"startTime":"soon","endTime":"0001-01-01T00:00:00Z"})",
        R"({"startTime":"2026-03-01T10:00:00Z","endTime":")",
        R"({"startTime":"9999-03-01T10:00:00Z","endTime":"2026-03-01T10:00:00Z"})"})
    EXPECT_EQ(DecodeTimes(text).status().code(), StatusCode::kDataLoss) << text;
}

TEST(ShutdownProgress, ComesBackAsItWas) {
  const auto back = DecodeProgress(
      EncodeProgress({.group = 2, .group_began = {7, Duration{12345}}, .ended = true}), 7);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->group, 2U);
  EXPECT_EQ(back->group_began, (Clock::Time{7, Duration{12345}}));
  EXPECT_TRUE(back->ended);
  for (const char* text : {"", "1 2", "1 2 3 4", "1 2 x", "-1 2 3", "1  2"})
    EXPECT_EQ(DecodeProgress(text, 7).status().code(), StatusCode::kDataLoss) << text;
}

}  // namespace
}  // namespace splitlet::gc
