#include "services/status/api/lease/lease_plan.h"

#include <gtest/gtest.h>

namespace splitlet::status {
namespace {

TEST(LeasePlan, AConflictIsReadAndADeletedLeaseIsCreatedAgain) {
  EXPECT_EQ(AfterFailedUpdate(Aborted("conflict")), AfterUpdate::kReadNewer);
  EXPECT_EQ(AfterFailedUpdate(NotFound("deleted")), AfterUpdate::kReadOrCreate);
  EXPECT_EQ(AfterFailedUpdate(Unavailable("away")), AfterUpdate::kRepeat);
  EXPECT_EQ(AfterFailedUpdate(PermissionDenied("no")), AfterUpdate::kRepeat);
}

TEST(LeasePlan, ALeaseIsKeptIfTheServerDidNotProcessTheUpdate) {
  EXPECT_TRUE(KeepsLease(ResourceExhausted("busy")));
  EXPECT_FALSE(KeepsLease(Unavailable("away")));
  EXPECT_FALSE(KeepsLease(NotFound("deleted")));
}

TEST(LeasePlan, TheWaitWithoutALeaseDoublesUpToSevenSeconds) {
  Duration wait{0};
  for (const Duration want : {200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 7000ms, 7000ms}) {
    wait = WaitWithoutLease(wait);
    EXPECT_EQ(wait, want);
  }
}

TEST(LeasePlan, ALeaseIsRenewedFourTimesInItsDuration) { EXPECT_EQ(RenewalPeriod(40), 10s); }

}  // namespace
}  // namespace splitlet::status
