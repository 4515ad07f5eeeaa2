#include "services/status/api/csi/csi_plan.h"

#include <gtest/gtest.h>

namespace splitlet::status {
namespace {

TEST(CsiPlan, ANodeIsNotReadyBeforeItsCsiNodeWasInitialised) {
  const Status error = PermissionDenied("csinodes is forbidden");
  const struct {
    const char* name;
    CsiNodeKnown known;
    std::string want;
  } kCases[] = {
      {"a Node that no server has shown", {}, "CSINode is not yet initialized"},
      {"a new Node", {.node_uid = "a"}, "CSINode is not yet initialized"},
      {"the CSINode exists", {.node_uid = "a", .initialised_for = "a"}, ""},
      {"a Node that was Ready at the start of status",
       {.node_uid = "a", .ready_at_start = "a"},
       ""},
      {"the CSINode of an earlier Node",
       {.node_uid = "b", .initialised_for = "a"},
       "CSINode is not yet initialized"},
      {"an earlier Node was Ready",
       {.node_uid = "b", .ready_at_start = "a"},
       "CSINode is not yet initialized"},
      {"a few failures",
       {.node_uid = "a", .failures = 5, .last_error = error},
       "CSINode is not yet initialized"},
      {"many failures",
       {.node_uid = "a", .failures = 6, .last_error = error},
       "failed to initialize CSINode: error updating CSINode annotation: timed out waiting for the "
       "condition; caused by: csinodes is forbidden"},
      {"failures of a node that was Ready",
       {.node_uid = "a", .ready_at_start = "a", .failures = 6, .last_error = error},
       ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(CsiNodeProblem(c.known), c.want);
  }
}

TEST(CsiPlan, TheWaitAfterAFailureDoublesUpToTenSeconds) {
  Duration wait{0};
  for (const Duration want : {200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10000ms, 10000ms}) {
    wait = CsiRetryWait(wait);
    EXPECT_EQ(wait, want);
  }
}

}  // namespace
}  // namespace splitlet::status
