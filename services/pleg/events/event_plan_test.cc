#include "services/pleg/events/event_plan.h"

#include <gtest/gtest.h>

namespace splitlet::pleg {
namespace {

using Kind = cri::ContainerEvent::Kind;

TEST(EventPlan, AnEventLeadsToAnInspectionUnlessItsPodShowsIt) {
  using enum EventPod;
  using enum EventStep;
  const struct {
    const char* name;
    EventInputs event;
    EventStep want;
  } kCases[] = {
      {"a creation", {.kind = Kind::kCreated, .pod = kCurrent}, kDrop},
      {"a creation in no pod", {.kind = Kind::kCreated}, kDrop},
      {"a start in no pod", {.kind = Kind::kStarted}, kRemember},
      {"an exit in no pod", {.kind = Kind::kStopped}, kRemember},
      {"a removal in no pod", {.kind = Kind::kDeleted}, kDrop},
      {"a start of an unmanaged object", {.kind = Kind::kStarted, .pod = kUnmanaged}, kDrop},
      {"a start in a new pod", {.kind = Kind::kStarted, .pod = kNew}, kInspect},
      {"a removal in a new pod", {.kind = Kind::kDeleted, .pod = kNew}, kDrop},
      {"a removal in a pod", {.kind = Kind::kDeleted, .pod = kCurrent}, kInspect},
      {"a start", {.kind = Kind::kStarted, .pod = kCurrent}, kInspect},
      {"a start that is shown", {.kind = Kind::kStarted, .pod = kCurrent, .shown = true}, kDrop},
      {"a start that an old inspection shows",
       {.kind = Kind::kStarted, .pod = kStale, .shown = true},
       kInspect},
      {"an exit that is shown late",
       {.kind = Kind::kStopping, .pod = kCurrent, .late = true},
       kInspectLate},
      {"the same during the short waits for another event",
       {.kind = Kind::kStopping, .pod = kCurrent, .late = true, .waits = EventWaits::kShort},
       kJoin},
      {"the same during the long ones",
       {.kind = Kind::kStopping, .pod = kCurrent, .late = true, .waits = EventWaits::kLong},
       kInspectLate},
      {"an exit during the waits for another event",
       {.kind = Kind::kStopped, .pod = kCurrent, .waits = EventWaits::kShort},
       kInspect},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(StepAfter(c.event), c.want);
  }
}

TEST(EventPlan, EndsThatAreAnnouncedAndEndsOfSandboxesAreShownLate) {
  using enum Lateness;
  const struct {
    const char* name;
    cri::ContainerEvent event;
    Lateness want;
  } kCases[] = {
      {"announced", {Kind::kStopping, "id", "web"}, kLate},
      {"an end", {Kind::kStopped, "id", ""}, kLateIfSandbox},
      {"an end that names its pod", {Kind::kStopped, "id", "web"}, kSoon},
      {"a start", {Kind::kStarted, "id", ""}, kSoon},
      {"a removal", {Kind::kDeleted, "id", ""}, kSoon},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(LatenessOf(c.event), c.want);
  }
}

TEST(EventPlan, TheShortWaitsPrecedeTheLongOnes) {
  const PlegConfig config;
  EXPECT_EQ(WaitAfter(config, 0), 5ms);
  EXPECT_EQ(WaitAfter(config, 4), 40ms);
  EXPECT_EQ(WaitAfter(config, 5), 120ms);
  EXPECT_EQ(WaitAfter(config, 8), 1400ms);
  EXPECT_EQ(WaitAfter(config, 9), std::nullopt);
}

TEST(EventPlan, OneListingServesManyPodsIfListingsWork) {
  EXPECT_FALSE(OneListingServes(4, false));
  EXPECT_TRUE(OneListingServes(5, false));
  EXPECT_FALSE(OneListingServes(5, true));
}

}  // namespace
}  // namespace splitlet::pleg
