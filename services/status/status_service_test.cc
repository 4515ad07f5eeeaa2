#include "services/status/status_service.h"

#include <gtest/gtest.h>

#include "libs/base/fail_point.h"
#include "services/status/status_fixture.h"

namespace splitlet::status {
namespace {

TEST_F(StatusServiceTest, APodGoesFromPendingToRunningToGone) {
  Start();
  Want("u1");
  Settle();
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  EXPECT_EQ(Shown("u1").phase(), "Running");
  EXPECT_EQ(Shown("u1").pod_ip(), "10.0.0.9");
  EXPECT_FALSE(podstatus->Find("u1")->deletable());
  Work("u1", v1::FINISHED);
  Settle();
  EXPECT_TRUE(podstatus->Find("u1")->deletable());
  desired->rows.Remove("u1");
  Settle();
  EXPECT_FALSE(podstatus->Contains("u1"));
}

TEST_F(StatusServiceTest, ContainersAreCountedByWhatTheyWaitFor) {
  Start();
  const auto waiting = [this](const std::string& reason) {
    return StatusMetrics(process->registry, "node-a").waiting.Add({{"reason", reason}}).Value();
  };
  Want("u1");
  Settle();
  EXPECT_EQ(waiting("ContainerCreating"), 1);
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  EXPECT_EQ(waiting("ContainerCreating"), 0);
  Want("u2");
  Settle();
  EXPECT_EQ(waiting("ContainerCreating"), 1);
  desired->rows.Remove("u2");
  Settle();
  EXPECT_EQ(waiting("ContainerCreating"), 0);
  EXPECT_EQ(WaitingReason("CrashLoopBackOff"), "CrashLoopBackOff");
  EXPECT_EQ(WaitingReason("what a runtime says"), "Other");
}

TEST_F(StatusServiceTest, TheEndOfAContainerIsCountedOnce) {
  Start();
  Want("u1");
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  const auto counted = [this] {
    return StatusMetrics(process->registry, "node-a")
        .terminated.Add({{"container_type", "container"}, {"exit_code", "3"}, {"reason", "Error"}})
        .Value();
  };
  EXPECT_EQ(counted(), 0);
  v1::RuntimeRecord ended = *runtime->rows.Get("u1");
  auto& container = *ended.mutable_pod()->mutable_containers(0);
  container.set_state(v1::ContainerRecord::EXITED);
  container.set_exit_code(3);
  container.set_reason("Error");
  for (const char* message : {"", "said a little later"}) {
    container.set_message(message);
    ASSERT_TRUE(runtime->rows.Put("u1", ended).ok());
    Settle();
    EXPECT_EQ(Shown("u1").container_statuses(0).state().terminated().message(), message);
    EXPECT_EQ(counted(), 1);
  }
}

TEST_F(StatusServiceTest, AnUnchangedStatusIsToldOnce) {
  Start();
  Want("u1");
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  const uint64_t version = podstatus->Find("u1")->version();
  all.Advance(60s);
  EXPECT_EQ(podstatus->Find("u1")->version(), version);
  Observe("u1", true);
  Settle();
  EXPECT_EQ(podstatus->Find("u1")->version(), version);
}

TEST_F(StatusServiceTest, ARestartTellsTheSameAgainWithAHigherVersion) {
  Start();
  Want("u1");
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  const uint64_t version = podstatus->Find("u1")->version();
  Crash();
  all.Advance(1s);
  Start();
  EXPECT_GT(podstatus->Find("u1")->version(), version);
  EXPECT_EQ(Shown("u1").phase(), "Running");
  EXPECT_TRUE(Shown("u1").container_statuses(0).ready());
}

TEST_F(StatusServiceTest, AContainerIsLostOnlyUnderAListingThatBeganLater) {
  Start();
  Want("u1");
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  const auto before = clock.Now();
  Settle();
  Observe("u1", false);
  Settle();
  EXPECT_TRUE(Shown("u1").container_statuses(0).state().has_running());
  runtime->rows.SetComplete({.scopes = {"all"}, .observed_at = clock.Now(), .not_vouched = {"u1"}});
  Settle();
  EXPECT_TRUE(Shown("u1").container_statuses(0).state().has_running());
  runtime->Complete(before);
  Settle();
  Work("u1", v1::SYNCING);
  Settle();
  runtime->Complete(clock.Now());
  Settle();
  EXPECT_EQ(Shown("u1").container_statuses(0).last_state().terminated().exit_code(), 137);
  EXPECT_EQ(Shown("u1").container_statuses(0).restart_count(), 1);
}

TEST_F(StatusServiceTest, ARunningPodIsNotCalledWaitingBeforeTheRuntimeWasListed) {
  Start();
  Want("u1");
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  ASSERT_EQ(Shown("u1").phase(), "Running");
  std::vector<std::string> phases;
  CollectPhases(phases);
  // Both are killed, and pleg takes its time.
  Crash();
  runtime.reset();
  runtime = std::make_unique<Owner<v1::RuntimeRecord>>(*this, "pleg", "runtime");
  Start();
  all.Advance(20s);
  EXPECT_EQ(phases, std::vector<std::string>{});
  StatusOr<std::unique_ptr<v1::PodStatusRecord>> asked = Internal("not asked");
  process->loop.Post([&] { asked = process->service->GetPodStatus("u1"); });
  Settle();
  EXPECT_EQ(asked.status().code(), StatusCode::kUnavailable);
  Want("new");
  Settle();
  EXPECT_EQ(Shown("new").phase(), "Pending") << "nothing was done for it yet";
  Observe("u1", true);
  runtime->Complete(clock.Now());
  Settle();
  for (const auto& phase : phases) EXPECT_EQ(phase, "Running");
  EXPECT_TRUE(process->service->GetHealth().ready);
}

TEST_F(StatusServiceTest, APlegThatIsAwayForLongHoldsBackNoStatus) {
  runtime.reset();
  Start();
  Want("u1");
  Work("u1", v1::SYNCING);
  all.Advance(4min);
  EXPECT_FALSE(podstatus->Contains("u1"));
  all.Advance(90s);
}

TEST_F(StatusServiceTest, ANewIncarnationStartsAnew) {
  Start();
  Want("u2");
  Decide("u2", v1::TERMINATED, "Failed");
  Settle();
  EXPECT_EQ(Shown("u2").phase(), "Failed");
  Want("u2", 2);
  Settle();
  EXPECT_EQ(Shown("u2").phase(), "Pending");
  EXPECT_EQ(podstatus->Find("u2")->incarnation(), 2);
}

TEST_F(StatusServiceTest, ARejectionShowsOnlyUnderCompleteWorkersWithoutGrant) {
  Start();
  workers->rows.SetComplete({});
  Want("u1");
  Reject("u1", "OutOfpods");
  Settle();
  EXPECT_FALSE(podstatus->Contains("u1")) << "before this process it may have been Failed";
  workers->Complete();
  all.Advance(11s);
  EXPECT_EQ(Shown("u1").phase(), "Failed");
  EXPECT_EQ(Shown("u1").reason(), "OutOfpods");
}

TEST_F(StatusServiceTest, ARejectionThatWasToldStandsWhileWorkersAreAway) {
  Start();
  Want("u1");
  Reject("u1", "OutOfpods");
  Settle();
  ASSERT_EQ(Shown("u1").reason(), "OutOfpods");
  const uint64_t version = podstatus->Find("u1")->version();
  network.SetConnected("pod-worker", false);
  network.SetCallsFail("pod-worker", true);
  all.Advance(60s);
  EXPECT_EQ(podstatus->Find("u1")->version(), version);
  EXPECT_EQ(Shown("u1").container_statuses_size(), 0);
}

TEST_F(StatusServiceTest, ARejectionFromBeforeAStartIsNotPrecededByPending) {
  std::vector<std::string> phases;
  ShowARefusedPodUntilACrash(phases);
  // pod-worker, restarted too, has put its record, and is not complete yet.
  workers->rows.SetComplete({});
  v1::WorkerRecord asked_to_go;
  asked_to_go.set_uid("u1");
  asked_to_go.set_incarnation(1);
  asked_to_go.set_state(v1::TERMINATING);
  ASSERT_TRUE(workers->rows.Put("u1", asked_to_go).ok());
  Start();
  all.Advance(20s);
  workers->Complete();
  all.Advance(11s);
  EXPECT_EQ(phases, (std::vector<std::string>{"Failed", "Failed"}));
}

TEST_F(StatusServiceTest, ARejectionThatNobodyTellsYetAfterAStartIsNotPrecededByPending) {
  std::vector<std::string> phases;
  ShowARefusedPodUntilACrash(phases);
  // sync-loop, restarted too, has not decided again.
  admission.reset();
  admission = std::make_unique<Owner<v1::AdmissionRecord>>(*this, "sync-loop", "admission");
  Start();
  all.Advance(3s);
  Reject("u1");
  admission->Complete();
  all.Advance(11s);
  EXPECT_EQ(phases, (std::vector<std::string>{"Failed", "Failed"}));
}

TEST_F(StatusServiceTest, WhatCannotBeUnderstoodIsNoAbsence) {
  Start();
  Want("u1");
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  ASSERT_EQ(Shown("u1").phase(), "Running");
  // Later starts of both owners, with records that no reader of this version can parse.
  runtime.reset();
  bus::FakeBus pleg(network, "pleg", other_loop);
  auto raw = *pleg.OwnRaw("runtime");
  ASSERT_TRUE(raw->Put("u1", "\xff\xff", "").ok());
  all.Advance(5s);
  raw->SetComplete({.scopes = {std::string(bus::kAll)}, .observed_at = clock.Now()});
  all.Advance(20s);
  EXPECT_EQ(Shown("u1").phase(), "Running") << "its container is not lost";
  EXPECT_EQ(Shown("u1").container_statuses(0).restart_count(), 0);

  workers.reset();
  bus::FakeBus worker(network, "pod-worker", other_loop);
  auto raw_workers = *worker.OwnRaw("workers");
  ASSERT_TRUE(raw_workers->Put("u2", "\xff\xff", "").ok());
  raw_workers->SetComplete({.scopes = {std::string(bus::kAll)}});
  Want("u2");
  Reject("u2");
  all.Advance(20s);
  EXPECT_EQ(Shown("u2").phase(), "Pending") << "it may have a grant";
}

TEST_F(StatusServiceTest, AStatusContinuesTheTraceOfWhatItRestsOn) {
  std::vector<std::string> traces;
  podstatus->OnChange([&](const auto& change) {
    if (change.key == "u1") traces.push_back(change.traceparent);
  });
  Start();
  Want("u1", 1, "00-manifest");
  Settle();
  EXPECT_EQ(traces, std::vector<std::string>{"00-manifest"});
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  EXPECT_EQ(traces.back(), "00-manifest") << "pleg does not know who asked for a start";
  auto ended = *runtime->rows.Get("u1");
  ended.mutable_pod()->mutable_containers(0)->set_state(v1::ContainerRecord::EXITED);
  ASSERT_TRUE(runtime->rows.Put("u1", ended, "00-end").ok());
  Settle();
  EXPECT_EQ(traces.back(), "00-end");
  const size_t before = traces.size();
  Work("u1", v1::FINISHED);
  Settle();
  ASSERT_GT(traces.size(), before);
  EXPECT_EQ(traces.back(), "00-end");
  desired->rows.Remove("u1", "00-forgotten");
  Settle();
  EXPECT_EQ(traces.back(), "00-forgotten");
  EXPECT_EQ(podstatus->Find("u1"), nullptr);
}

TEST_F(StatusServiceTest, NothingIsToldBeforeWorkersWereLiveOrAwayForFiveMinutes) {
  workers.reset();
  Start();
  Want("u1");
  Observe("u1", true);
  all.Advance(200s);
  EXPECT_FALSE(podstatus->Contains("u1"));
  EXPECT_FALSE(process->service->GetHealth().ready);
  EXPECT_EQ(process->service->GetPodStatus("u1").status().code(), StatusCode::kUnavailable);
  all.Advance(120s);
  EXPECT_EQ(Shown("u1").phase(), "Running");
  EXPECT_FALSE(Shown("u1").container_statuses(0).ready());
}

TEST_F(StatusServiceTest, APodThatIsOverIsNotCalledRunningBeforePodWorkerHasReadItsFiles) {
  std::vector<std::string> phases;
  CollectPhases(phases);
  // All were killed, and pod-worker is back but has said nothing yet.
  workers.reset();
  workers = std::make_unique<Owner<v1::WorkerRecord>>(*this, "pod-worker", "workers");
  Want("u1");
  Observe("u1", true);
  Start();
  all.Advance(20s);
  EXPECT_EQ(phases, std::vector<std::string>{});
  EXPECT_FALSE(podstatus->IsComplete());
  Decide("u1", v1::TERMINATED, "Succeeded");
  Want("new");
  Settle();
  EXPECT_EQ(phases, std::vector<std::string>{"Succeeded"}) << "its record is enough";
  EXPECT_FALSE(podstatus->Contains("new"));
  workers->Complete();
  Settle();
  EXPECT_EQ(Shown("new").phase(), "Pending");
  EXPECT_TRUE(podstatus->IsComplete());
}

/// Its worker said finished, and went with the record; `desired` as seen here is a moment behind.
TEST_F(StatusServiceTest, OfARemovedPodWithoutAWorkerAStartInventsNothing) {
  Start();
  Crash();
  Want("u1", 1, "", v1::DesiredRecord::REMOVED);
  Observe("u1", true);
  std::vector<std::string> phases;
  CollectPhases(phases);
  Start();
  EXPECT_EQ(phases, std::vector<std::string>());
  Decide("u1", v1::FINISHED, "Succeeded");
  Settle();
  EXPECT_EQ(phases, std::vector<std::string>{"Succeeded"});
}

TEST_F(StatusServiceTest, ATerminalStatusFromBeforeARebootIsNotPrecededByRunning) {
  std::vector<std::string> phases;
  CollectPhases(phases);
  Want("u1");
  Decide("u1", v1::TERMINATING, "Succeeded");
  Start();
  all.Advance(20s);
  EXPECT_EQ(phases, std::vector<std::string>{});
  Decide("u1", v1::TERMINATED, "Succeeded");
  Settle();
  EXPECT_EQ(phases, std::vector<std::string>{"Succeeded"});
}

TEST_F(StatusServiceTest, ARunningPodThatCannotBeInspectedIsNotCalledWaitingAfterARestart) {
  std::vector<std::string> phases;
  CollectPhases(phases);
  Want("u1");
  Work("u1", v1::SYNCING);
  v1::RuntimeRecord failed;
  failed.mutable_pod()->set_uid("u1");
  failed.set_inspect_error("ListContainers: DEADLINE_EXCEEDED");
  ASSERT_TRUE(runtime->rows.Put("u1", failed).ok());
  // The record may come before the heartbeat that does not vouch for it any more.
  for (const std::set<std::string>& not_vouched : {std::set<std::string>{"u1"}, {}}) {
    runtime->rows.SetComplete(
        {.scopes = {"all"}, .observed_at = clock.Now(), .not_vouched = not_vouched});
    Start();
    all.Advance(20s);
    EXPECT_EQ(phases, std::vector<std::string>{});
    Crash();
  }
  Start();
  Observe("u1", true);
  runtime->Complete(clock.Now());
  Settle();
  EXPECT_EQ(phases, std::vector<std::string>{"Running"});
}

TEST_F(StatusServiceTest, AReadyPodIsNotCalledUnreadyWhenPodWorkerHangsDuringARestart) {
  std::vector<bool> ready;
  podstatus->OnChange([&](const auto& change) {
    if (change.key == "u1") ready.push_back(Shown("u1").container_statuses(0).ready());
  });
  runtime.reset();
  Work("u1", v1::SYNCING);
  Start();
  network.SetConnected("pod-worker", false);
  network.SetCallsFail("pod-worker", true);
  all.Advance(10s);
  runtime = std::make_unique<Owner<v1::RuntimeRecord>>(*this, "pleg", "runtime");
  Observe("u1", true);
  runtime->Complete(clock.Now());
  Want("u1");
  all.Advance(10s);
  EXPECT_EQ(ready, std::vector<bool>{});
  network.SetConnected("pod-worker", true);
  network.SetCallsFail("pod-worker", false);
  all.Advance(10s);
  EXPECT_EQ(ready, std::vector<bool>{true});
}

TEST_F(StatusServiceTest, TheTableIsCompleteWhenItsViewsWereLive) {
  workers.reset();
  Start();
  all.Advance(10s);
  EXPECT_FALSE(podstatus->IsComplete());
  workers = std::make_unique<Owner<v1::WorkerRecord>>(*this, "pod-worker", "workers");
  workers->Complete();
  all.Advance(10s);
  EXPECT_TRUE(podstatus->IsComplete());
}

TEST_F(StatusServiceTest, TheNodeHasItsCapacityLabelsAndConditions) {
  Start();
  EXPECT_EQ(NodeReady().status(), "True") << NodeReady().message();
  EXPECT_EQ(node->node().capacity().at("cpu"), "4");
  EXPECT_EQ(node->node().capacity().at("memory"), "8Gi");
  EXPECT_EQ(node->node().labels().at("kubernetes.io/os"), "linux");
  EXPECT_EQ(node->node().labels().at("kubernetes.io/hostname"), "node-a")
      << "what selectors of pods name, not what the machine calls itself";
  EXPECT_TRUE(process->service->GetHealth().ready);
}

TEST_F(StatusServiceTest, AMachineThatCannotBeReadIsTriedAgain) {
  files.Fail("/proc/meminfo", Unavailable("busy"));
  Start();
  EXPECT_EQ(NodeReady().status(), "");
  EXPECT_FALSE(process->service->GetHealth().ready);
  files.Fail("/proc/meminfo", OkStatus());
  all.Advance(11s);
  EXPECT_EQ(NodeReady().status(), "True");
}

TEST_F(StatusServiceTest, AProcessThatDoesNotAnswerMakesTheNodeNotReadyAfterItsLimit) {
  Start();
  answers.dead = {"pod-worker"};
  all.Advance(290s);
  EXPECT_EQ(NodeReady().status(), "True");
  all.Advance(30s);
  EXPECT_EQ(NodeReady().status(), "False");
  EXPECT_NE(NodeReady().message().find("pod-worker has not answered for 300s"), std::string::npos)
      << NodeReady().message();
  EXPECT_EQ(process->service->ListEvents("node-a").back().reason(), "NodeNotReady");
  answers.dead.clear();
  all.Advance(11s);
  EXPECT_EQ(NodeReady().status(), "True");
}

TEST_F(StatusServiceTest, AnAddressThatNoInterfaceHasIsANote) {
  Start();
  EXPECT_TRUE(process->service->Notes().empty()) << "none was asked for";
  Crash();
  config.node_ips = {"192.0.2.7"};
  Start();
  EXPECT_EQ(process->service->Notes(),
            std::vector<std::string>{
                "--node-ip: 192.0.2.7 is not the address of any interface of this machine"});
  EXPECT_TRUE(process->service->GetHealth().ready) << "an interface may come up later";
}

TEST_F(StatusServiceTest, AnUnhealthyPlegSaysWhy) {
  Start();
  answers.pleg_healthy = false;
  all.Advance(200s);
  EXPECT_EQ(NodeReady().message(), "PLEG is not healthy: relist is stuck");
}

TEST_F(StatusServiceTest, ARuntimeThatIsDownIsToldAtOnceAndOnce) {
  Start();
  answers.runtime_down = true;
  all.Advance(11s);
  EXPECT_EQ(NodeReady().status(), "False");
  EXPECT_EQ(NodeReady().message(), "container runtime is down");
  answers.runtime_known = false;
  all.Advance(11s);
  EXPECT_EQ(NodeReady().status(), "False") << "pleg was started again and knows nothing yet";
  answers.runtime_known = true;
  answers.pleg_healthy = false;
  all.Advance(200s);
  EXPECT_EQ(NodeReady().message(),
            "[container runtime is down, PLEG is not healthy: relist is stuck]");
  answers.runtime_down = false;
  answers.pleg_healthy = true;
  all.Advance(11s);
  EXPECT_EQ(NodeReady().status(), "True");
}

TEST_F(StatusServiceTest, APlegThatHasJustStartedLeavesTheNodeReady) {
  answers.runtime_known = false;
  Start();
  EXPECT_EQ(NodeReady().message(), "container runtime status check may not have completed yet");
  EXPECT_FALSE(node->node().features().known());
  answers.runtime_known = true;
  all.Advance(2s);
  EXPECT_EQ(NodeReady().status(), "True") << "pleg is asked again long before the next pass";
  answers.runtime_known = false;
  all.Advance(11s);
  EXPECT_EQ(NodeReady().status(), "True");
  EXPECT_TRUE(node->node().features().known());
  EXPECT_TRUE(node->node().features().handlers(0).user_namespaces());
}

TEST_F(StatusServiceTest, CallsFindPodsNodeAndEvents) {
  Start();
  Want("u1");
  Settle();
  EXPECT_EQ((*process->service->GetPodStatus("u1"))->name(), "web");
  EXPECT_TRUE((*process->service->GetPodStatus("node"))->has_node());
  EXPECT_EQ(process->service->GetPodStatus("nobody").status().code(), StatusCode::kNotFound);
  v1::EventRecord event;
  event.set_uid("u1");
  event.set_reason("Pulled");
  process->service->OnEvents({event, event});
  ASSERT_EQ(process->service->ListEvents("u1").size(), 1U);
  EXPECT_EQ(process->service->ListEvents("u1")[0].count(), 2U);
}

TEST_F(StatusServiceTest, KilledAtEachPutItEndsAsIfNothingHadHappened) {
  bool pressed = false;
  for (const char* point :
       {"status.put.before", "status.put.after", "status.put-node.before", "status.put-node.after",
        "status.remove.before", "status.remove.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({.crash = [] { throw exec::Scheduler::CrashedHere(); }, .delay = {}});
    FailPoints::SetCurrent(&points);
    const std::string uid = "pod" + std::to_string(std::hash<std::string>{}(point) % 1000);
    Start();
    Want(uid);
    Want("gone");
    Settle();
    ASSERT_TRUE(points.Set(point, "1*crash").ok());
    Work(uid, v1::SYNCING);
    Observe(uid, true);
    desired->rows.Remove("gone");
    v1::PressureRecord other;
    other.add_conditions(point);
    if (!pressed) other.add_conditions("DiskPressure");
    pressed = !pressed;
    ASSERT_TRUE(pressure->rows.Put("node", other).ok());
    all.Advance(20s);
    EXPECT_FALSE(all.alive(process->owner));
    FailPoints::SetCurrent(nullptr);
    process.reset();
    Start();
    all.Advance(20s);
    EXPECT_EQ(Shown(uid).phase(), "Running");
    EXPECT_FALSE(podstatus->Contains("gone"));
    EXPECT_NE(NodeReady().status(), "");
    Crash();
  }
}

TEST_F(StatusServiceTest, KilledAroundItsCompletenessTheTableIsCompleteAfterTheNextStart) {
  for (const char* point : {"status.complete.before", "status.complete.after"}) {
    SCOPED_TRACE(point);
    FailPoints points({.crash = [] { throw exec::Scheduler::CrashedHere(); }, .delay = {}});
    FailPoints::SetCurrent(&points);
    ASSERT_TRUE(points.Set(point, "1*crash").ok());
    Start();
    Want("u1");
    all.Advance(20s);
    EXPECT_FALSE(all.alive(process->owner));
    FailPoints::SetCurrent(nullptr);
    process.reset();
    Start();
    all.Advance(20s);
    EXPECT_TRUE(podstatus->LiveAndComplete());
    Crash();
  }
}

}  // namespace
}  // namespace splitlet::status
