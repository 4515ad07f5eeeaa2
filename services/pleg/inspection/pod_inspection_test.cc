#include "services/pleg/inspection/pod_inspection.h"

#include <gtest/gtest.h>

namespace splitlet::pleg {
namespace {

Clock::Time At(int64_t ns) { return {.boot = 1, .monotonic = Duration{ns}}; }

TEST(PodInspection, OneRunsAtATimeAndOneMoreFollowsHoweverOftenItIsAskedFor) {
  const struct {
    Progress now;
    Step step;
    Transition want;
  } kCases[] = {
      {Progress::kIdle, Step::kAsked, {Progress::kInspecting, true}},
      {Progress::kInspecting, Step::kAsked, {Progress::kInspectingOnceMore, false}},
      {Progress::kInspectingOnceMore, Step::kAsked, {Progress::kInspectingOnceMore, false}},
      {Progress::kInspecting, Step::kEnded, {Progress::kIdle, false}},
      {Progress::kInspectingOnceMore, Step::kEnded, {Progress::kIdle, true}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(static_cast<int>(c.now) * 10 + static_cast<int>(c.step));
    EXPECT_EQ(Advance(c.now, c.step), c.want);
  }
}

TEST(PodInspection, ARecordIsComparedWithAListing) {
  const States kRuns = {{"a", ObjectState::kRunning}};
  const States kEnded = {{"a", ObjectState::kExited}};
  const struct {
    const char* name;
    bool known;
    bool failed;
    Clock::Time listed_at;  // the listing began at 10
    States states;
    Comparison want;
  } kCases[] = {
      {"never inspected", false, false, {}, {}, Comparison::kDiffers},
      {"older and the same", true, false, At(9), kRuns, Comparison::kSame},
      {"older and another", true, false, At(9), kEnded, Comparison::kDiffers},
      {"of the same time", true, false, At(10), kEnded, Comparison::kNewer},
      {"newer and another", true, false, At(11), kEnded, Comparison::kNewer},
      {"the last one failed", true, true, At(9), kRuns, Comparison::kDiffers},
      {"newer, but the last one failed", true, true, At(11), kRuns, Comparison::kDiffers},
      {"the last one showed nothing", false, false, At(11), kRuns, Comparison::kDiffers},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PodInspection pod;
    pod.known = c.known;
    pod.states = c.states;
    pod.listed_at = c.listed_at;
    if (c.failed) pod.error = Unavailable("busy");
    EXPECT_EQ(Judge(pod, At(10), kRuns), c.want);
  }
}

TEST(PodInspection, AnInspectionIsAsOldAsTheListingsThatCameWhileItRan) {
  const struct {
    const char* name;
    Clock::Time absent_at, differs_at;
    Age want;  // of an inspection that began at 10
  } kCases[] = {
      {"no listing", {}, {}, Age::kCurrent},
      {"a later listing without the pod", At(11), {}, Age::kBeforeAbsence},
      {"an earlier listing without the pod", At(9), {}, Age::kCurrent},
      {"a listing of that time without the pod", At(10), {}, Age::kCurrent},
      {"a later listing that differs", {}, At(11), Age::kBeforeDifference},
      {"a listing of that time that differs", {}, At(10), Age::kCurrent},
      {"absent and different later", At(11), At(11), Age::kBeforeAbsence},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PodInspection pod;
    pod.absent_at = c.absent_at;
    pod.differs_at = c.differs_at;
    EXPECT_EQ(AgeOf(pod, At(10)), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pleg
