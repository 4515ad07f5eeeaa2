#include "services/pod-worker/pod/activity.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

using enum Activity;
using enum ActivityEvent;

TEST(Activity, EveryTransition) {
  const struct {
    const char* name;
    Activity before;
    ActivityEvent event;
    Activity want;
  } kCases[] = {
      {"woken at rest: what comes next may begin", kIdle, kWoken, kIdle},
      {"woken in a step: looked at again after it", kStep, kWoken, kStepThenAgain},
      {"woken twice in a step", kStepThenAgain, kWoken, kStepThenAgain},
      {"woken before all is on disk: the end of the save wakes it", kSaving, kWoken, kSaving},
      {"the same in a step", kStepAndSaving, kWoken, kStepAndSaving},
      {"a step begins at rest", kIdle, kStepBegun, kStep},
      {"a step ends, and nothing has happened", kStep, kStepEnded, kIdle},
      {"a step ends, and it was woken", kStepThenAgain, kStepEnded, kIdle},
      {"a step ends before all is on disk", kStepAndSaving, kStepEnded, kSaving},
      {"a save begins at rest", kIdle, kSaveBegun, kSaving},
      {"a second save", kSaving, kSaveBegun, kSaving},
      {"a save begins in a step", kStep, kSaveBegun, kStepAndSaving},
      {"a save begins in a step that was woken", kStepThenAgain, kSaveBegun, kStepAndSaving},
      {"a second save in a step", kStepAndSaving, kSaveBegun, kStepAndSaving},
      {"all is on disk", kSaving, kSaved, kIdle},
      {"all is on disk before the step has ended", kStepAndSaving, kSaved, kStepThenAgain},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Next(c.before, c.event), c.want);
  }
}

TEST(Activity, WhatCountsAsWhat) {
  for (const auto activity : {kStep, kStepThenAgain, kStepAndSaving})
    EXPECT_TRUE(IsInStep(activity));
  for (const auto activity : {kIdle, kSaving}) EXPECT_FALSE(IsInStep(activity));
  for (const auto activity : {kSaving, kStepAndSaving}) EXPECT_TRUE(IsSaving(activity));
  for (const auto activity : {kIdle, kStep, kStepThenAgain}) EXPECT_FALSE(IsSaving(activity));
}

}  // namespace
}  // namespace splitlet::pod_worker
