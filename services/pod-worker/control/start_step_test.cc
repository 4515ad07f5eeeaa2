#include "services/pod-worker/control/start_step.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

TEST(DecideStart, EveryStep) {
  using enum StartStep;
  const struct {
    const char* name;
    StartView view;
    StartStep want;
  } kCases[] = {
      {"a pod without a grant", {}, kNone},
      {"a pod without a grant, past its deadline", {.past_deadline = true}, kNone},
      {"a granted pod", {.granted = true}, kSync},
      {"past its deadline", {.granted = true, .past_deadline = true}, kEnd},
      {"past its deadline and held",
       {.granted = true, .past_deadline = true, .held = true, .name_taken = true},
       kEnd},
      {"held for a removal", {.granted = true, .held = true}, kAwaitHold},
      {"held, and its name is taken",
       {.granted = true, .held = true, .name_taken = true, .lacks_user_ids = true},
       kAwaitHold},
      {"a static pod whose name is taken", {.granted = true, .name_taken = true}, kAwaitName},
      {"its name is taken: it gets no ids",
       {.granted = true, .name_taken = true, .lacks_user_ids = true},
       kAwaitName},
      {"a pod whose user namespace has no ids",
       {.granted = true, .lacks_user_ids = true},
       kGiveUserIds},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DecideStart(c.view), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
