#include "services/sync-loop/admission/old_admissions.h"

#include <gtest/gtest.h>

namespace splitlet::sync_loop {
namespace {

using Worker = WorkerDigest::State;
using enum Retention;

TEST(OldAdmissions, AreForgottenOnceTheirPodIsCertainlyGone) {
  const WorkerDigest finished{.state = Worker::kFinished, .incarnation = 5};
  WorkerDigest removed = finished;
  removed.removed = true;
  const auto in_state = [](Worker state) {
    return WorkerDigest{.state = state, .incarnation = 5, .removed = true};
  };
  const WorkerDigest unknown = in_state(Worker::kUnknown), syncing = in_state(Worker::kSyncing),
                     ending = in_state(Worker::kTerminating), ended = in_state(Worker::kTerminated);
  const struct {
    const char* name;
    PastAdmission admission;
    Retention want;
  } kCases[] = {
      {"a wanted pod keeps it", {.incarnation = 5, .desired = true}, kKeep},
      {"a wanted pod keeps it, although an earlier record was removed",
       {.incarnation = 5, .desired = true, .worker = &removed, .seen_removed = true},
       kKeep},
      {"a pod that is removed and never had a worker loses it",
       {.incarnation = 5, .seen_removed = true},
       kForget},
      {"a pod without records may come with its source",
       {.incarnation = 5},
       kForgetOnceSourceIsComplete},
      {"a worker that syncs keeps it",
       {.incarnation = 5, .worker = &syncing, .seen_removed = true},
       kKeep},
      {"a worker that terminates keeps it",
       {.incarnation = 5, .worker = &ending, .seen_removed = true},
       kKeep},
      {"a worker that has terminated keeps it, until it is finished",
       {.incarnation = 5, .worker = &ended, .seen_removed = true},
       kKeep},
      {"a worker whose record cannot be parsed keeps it",
       {.incarnation = 5, .worker = &unknown, .seen_removed = true},
       kKeep},
      {"a finished worker of a removed pod frees it",
       {.incarnation = 5, .worker = &finished, .seen_removed = true},
       kForget},
      {"a worker that ended by itself may still be wanted",
       {.incarnation = 5, .worker = &finished},
       kForgetOnceSourceIsComplete},
      {"pod-worker saw the removal of this incarnation",
       {.incarnation = 5, .worker = &removed},
       kForget},
      {"pod-worker saw the removal of a later incarnation",
       {.incarnation = 4, .worker = &removed},
       kForget},
      {"the removal of an earlier incarnation says nothing",
       {.incarnation = 6, .worker = &removed},
       kForgetOnceSourceIsComplete},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ComputeRetention(c.admission), c.want);
  }
}

}  // namespace
}  // namespace splitlet::sync_loop
