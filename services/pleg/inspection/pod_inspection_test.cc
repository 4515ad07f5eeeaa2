#include "services/pleg/inspection/pod_inspection.h"

#include <gtest/gtest.h>

#include <optional>

#include "splitlet/v1/records.pb.h"

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

TEST(PodInspection, APodIsGoneUnlessAnInspectionShowedItSinceTheListing) {
  const struct {
    const char* name;
    bool known;
    Clock::Time listed_at;
    bool want;  // the listing began at 10
  } kCases[] = {
      {"never inspected", false, {}, true},
      {"inspected before", true, At(9), true},
      {"inspected at the same time", true, At(10), false},
      {"inspected later", true, At(11), false},
      {"inspected later, without a trace of it", false, At(11), true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PodInspection pod;
    pod.known = c.known;
    pod.listed_at = c.listed_at;
    EXPECT_EQ(IsGone(pod, At(10)), c.want);
  }
}

TEST(PodInspection, AnInspectionIsStuckAfterFiveSeconds) {
  EXPECT_FALSE(IsStuck(Progress::kIdle, 1h, OkStatus()));
  EXPECT_FALSE(IsStuck(Progress::kInspecting, 5s, Unavailable("busy")));
  EXPECT_TRUE(IsStuck(Progress::kInspecting, 5001ms, OkStatus()));
  EXPECT_TRUE(IsStuck(Progress::kInspectingOnceMore, 6s, OkStatus()));
  EXPECT_TRUE(IsStuck(Progress::kIdle, 0s, DeadlineExceeded("10s")));
}

v1::ObservedPod Observing(v1::ContainerRecord::State state, int32_t exit_code = 0,
                          const std::string& reason = "") {
  v1::ObservedPod pod;
  pod.mutable_listed_at()->set_monotonic_ns(10);
  auto& container = *pod.add_containers();
  container.set_id("a");
  container.set_state(state);
  container.set_exit_code(exit_code);
  container.set_reason(reason);
  return pod;
}

const States kNoStates;
const States kRunningState = {{"a", ObjectState::kRunning}};
const States kExitedState = {{"a", ObjectState::kExited}};

struct AcceptCase {
  const char* name;
  States before;
  std::optional<v1::ObservedPod> record;
  v1::ObservedPod observed;
  Acceptance want;
  std::string error = {};  // of the record
};

void ExpectAccepted(const AcceptCase& c) {
  SCOPED_TRACE(c.name);
  v1::RuntimeRecord record;
  if (c.record) *record.mutable_pod() = *c.record;
  record.set_inspect_error(c.error);
  EXPECT_EQ(Accept(c.before, c.record ? &record : nullptr, c.observed), c.want);
}

TEST(PodInspection, ARecordIsPutWhenMoreThanItsTimeChanges) {
  using enum Acceptance::Publish;
  const auto runs = Observing(v1::ContainerRecord::RUNNING);
  const auto killed = Observing(v1::ContainerRecord::EXITED, 137, "Error");
  const auto no_memory = Observing(v1::ContainerRecord::EXITED, 137, "OOMKilled");
  auto later = runs;
  later.mutable_listed_at()->set_monotonic_ns(11);
  const AcceptCase kCases[] = {
      {"the first inspection", kNoStates, {}, runs, {.publish = kPut}},
      {"a start", kNoStates, v1::ObservedPod(), runs, {.publish = kPut}},
      {"the same at another time", kRunningState, runs, later, {.publish = kNothing}},
      {"the same after an error", kRunningState, runs, runs, {.publish = kPut}, "busy"},
      {"the reason of an end", kExitedState, killed, no_memory, {.publish = kPut}},
  };
  for (const auto& c : kCases) ExpectAccepted(c);
}

TEST(PodInspection, AnEndMakesWorkAndBeginsATrace) {
  using enum Acceptance::Publish;
  const auto runs = Observing(v1::ContainerRecord::RUNNING);
  const auto failed = Observing(v1::ContainerRecord::EXITED, 1);
  const auto killed = Observing(v1::ContainerRecord::EXITED, 137, "Error");
  const auto no_memory = Observing(v1::ContainerRecord::EXITED, 137, "OOMKilled");
  const auto unknown = Observing(v1::ContainerRecord::UNKNOWN);
  const Acceptance ended{.publish = kPutAndSignal, .begins_trace = true};
  Acceptance ended_by_kill = ended;
  ended_by_kill.reason_follows = true;
  const AcceptCase kCases[] = {
      {"an end", kRunningState, runs, failed, ended},
      {"an end by SIGKILL", kRunningState, runs, killed, ended_by_kill},
      {"an end for memory", kRunningState, runs, no_memory, ended},
      {"found dead", kNoStates, {}, failed, {.publish = kPutAndSignal}},
      {"no longer known to the runtime", kRunningState, runs, unknown, {.publish = kPutAndSignal}},
  };
  for (const auto& c : kCases) ExpectAccepted(c);
}

TEST(PodInspection, AnErrorIsAddedToWhatIsKnown) {
  const PodNames pod{.uid = "uid-web", .name = "web", .name_space = "default"};
  const auto first = WithError(nullptr, pod, "busy");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pod().uid(), "uid-web");
  EXPECT_EQ(first->pod().name(), "web");
  EXPECT_EQ(first->pod().namespace_(), "default");
  EXPECT_EQ(first->inspect_error(), "busy");
  EXPECT_FALSE(WithError(&*first, pod, "busy"));

  v1::RuntimeRecord known;
  *known.mutable_pod() = Observing(v1::ContainerRecord::RUNNING);
  known.mutable_pod()->set_name("as-the-runtime-has-it");
  const auto added = WithError(&known, pod, "away");
  ASSERT_TRUE(added);
  EXPECT_EQ(added->pod().name(), "as-the-runtime-has-it");
  EXPECT_EQ(added->pod().containers_size(), 1);
  EXPECT_EQ(added->inspect_error(), "away");
}

}  // namespace
}  // namespace splitlet::pleg
