#include "services/status/pods/first_status.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::status {
namespace {

/// Everything is known, and nothing is there.
FirstStatusInputs Settled() {
  const SeenTable known{.state = TableState::kComplete, .was_complete = true};
  return {.workers_table = known, .admission_table = known, .runtime_table = known};
}

v1::WorkerRecord Granted() {
  v1::WorkerRecord worker;
  worker.set_state(v1::SYNCING);
  worker.set_granted(true);
  return worker;
}

TEST(FirstStatus, WaitsForNothingWhenAllTablesAreComplete) {
  EXPECT_EQ(FindFirstStatusWait(Settled()), FirstStatusWait::kNothing);
}

TEST(FirstStatus, ARemovedPodWaitsForItsWorkerHoweverLong) {
  auto in = Settled();
  in.removed = true;
  in.waited_long = true;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kWorker);
}

TEST(FirstStatus, APodWithoutWorkerWaitsUntilWorkersWereComplete) {
  auto in = Settled();
  in.workers_table.was_complete = false;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kWorkers);
  in.waited_long = true;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kNothing);
}

TEST(FirstStatus, ATerminatingPodWaitsUntilItIsTerminated) {
  auto in = Settled();
  v1::WorkerRecord worker = Granted();
  worker.set_state(v1::TERMINATING);
  worker.mutable_terminal_status()->set_phase("Failed");
  in.worker = &worker;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kTermination);
  worker.set_state(v1::TERMINATED);
  v1::AdmissionRecord admitted;
  admitted.set_decision(v1::AdmissionRecord::ADMITTED);
  in.admission = &admitted;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kNothing);
}

TEST(FirstStatus, ARefusalWaitsUntilWorkersVouchForIt) {
  auto in = Settled();
  v1::AdmissionRecord refused;
  refused.set_decision(v1::AdmissionRecord::REJECTED);
  in.admission = &refused;
  in.workers_table.state = TableState::kLive;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kRefusalConfirmed);
}

TEST(FirstStatus, AnUndecidedPodWaitsForAdmission) {
  auto in = Settled();
  in.admission_table.state = TableState::kLive;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kAdmission);
  const v1::WorkerRecord worker = Granted();
  in.worker = &worker;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kNothing);
}

TEST(FirstStatus, ARunningPodWaitsForLiveWorkers) {
  auto in = Settled();
  const v1::WorkerRecord worker = Granted();
  v1::RuntimeRecord runtime;
  runtime.mutable_pod()->add_sandboxes();
  in.worker = &worker;
  in.runtime = &runtime;
  in.workers_table.state = TableState::kStale;
  EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kFlags);
}

TEST(FirstStatus, APodWhoseWorkerActedWaitsForAListing) {
  v1::WorkerRecord worker = Granted();
  worker.mutable_last_action_at()->set_boot(1);
  v1::RuntimeRecord failed;
  failed.set_inspect_error("timeout");
  for (const int why : {0, 1, 2}) {
    auto in = Settled();
    in.worker = &worker;
    if (why == 0) in.runtime_table.was_complete = false;
    if (why == 1) in.vouched = false;
    if (why == 2) in.runtime = &failed;
    EXPECT_EQ(FindFirstStatusWait(in), FirstStatusWait::kListing) << why;
  }
}

TEST(Rejection, NeedsCompleteWorkersUnlessItWasShown) {
  v1::AdmissionRecord refused;
  refused.set_decision(v1::AdmissionRecord::REJECTED);
  RejectionInputs in{.admission = &refused};
  EXPECT_FALSE(IsRejected(in));
  in.workers_complete = true;
  EXPECT_TRUE(IsRejected(in));
  in.worker_unreadable = true;
  EXPECT_FALSE(IsRejected(in));
  kube::PodStatus shown;
  shown.set_phase("Failed");
  in.previous = &shown;
  EXPECT_TRUE(IsRejected(in));
  const v1::WorkerRecord worker = Granted();
  in.worker = &worker;
  EXPECT_FALSE(IsRejected(in)) << "a granted pod is not refused";
}

}  // namespace
}  // namespace splitlet::status
