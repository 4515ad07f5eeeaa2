#include "services/status/pods/pod_status.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/cri/observe.h"
#include "libs/kube/codec.h"
#include "services/status/pods/containers.h"
#include "services/status/pods/phase.h"

namespace splitlet::status {
namespace {

using State = v1::ContainerRecord;

/// A pod, its records, and what the last status said; written as short as a case needs.
struct Case {
  kube::Pod pod;
  v1::DesiredRecord desired;
  v1::AdmissionRecord admission;
  v1::WorkerRecord worker;
  v1::ObservedPod runtime;
  kube::PodStatus previous;
  bool has_previous = false, rejected = false, workers_live = true, covers = false;
  WallTime now = WallFromNanos(1'000'000'000'000);

  explicit Case(const std::string& spec) {
    const auto decoded =
        kube::DecodeInto("metadata: {name: web, namespace: default, uid: u1}\nspec: {" + spec + "}",
                         "test", kube::Strictness::kStrict, pod);
    EXPECT_TRUE(decoded.ok()) << ToString(decoded.status());
    if (!pod.spec().has_restart_policy()) pod.mutable_spec()->set_restart_policy("Always");
    desired.set_state(v1::DesiredRecord::WANTED);
    desired.set_source("api");
    worker.set_state(v1::SYNCING);
    worker.set_granted(true);
    worker.set_start_time_wall_ns(900'123'456'789);
    runtime.set_runtime_name("containerd");
  }
  Case& Sandbox(bool ready = true) {
    auto* sandbox = runtime.add_sandboxes();
    sandbox->set_id("s" + std::to_string(runtime.sandboxes_size()));
    sandbox->set_state(ready ? v1::SandboxRecord::READY : v1::SandboxRecord::NOT_READY);
    if (ready) sandbox->add_ips("10.0.0.5");
    return *this;
  }
  /// The newest container of a name comes first.
  Case& Container(const std::string& name, State::State state, int exit_code = 0) {
    auto* record = runtime.add_containers();
    record->set_id(name + "-" + std::to_string(runtime.containers_size()));
    record->set_sandbox_id("s1");
    record->set_name(name);
    record->set_state(state);
    record->set_exit_code(exit_code);
    record->set_started_at_ns(950'500'000'000);
    if (state == State::EXITED) {
      record->set_finished_at_ns(960'000'000'000);
      record->set_reason(exit_code == 0 ? "Completed" : "Error");
    }
    return *this;
  }
  Case& Note(const std::string& name, const std::string& reason, const std::string& message) {
    auto* note = worker.add_containers();
    note->set_name(name);
    note->set_reason(reason);
    note->set_message(message);
    return *this;
  }
  Case& Probe(const std::string& id, const std::string& kind, bool success) {
    auto* probe = worker.add_probes();
    probe->set_container_id(id);
    probe->set_kind(kind);
    probe->set_success(success);
    return *this;
  }
  kube::PodStatus Compute() {
    return ComputePodStatus({.pod = pod,
                             .desired = desired,
                             .admission = &admission,
                             .worker = &worker,
                             .runtime = &runtime,
                             .previous = has_previous ? &previous : nullptr,
                             .rejected = rejected,
                             .workers_live = workers_live,
                             .listing_covers = covers,
                             .host_ips = {"192.168.1.2"},
                             .now = now});
  }
  /// Computes and keeps the result as the last status.
  Case& Remember() { return Previous(Compute()); }
  Case& Previous(const kube::PodStatus& status) {
    previous = status;
    has_previous = true;
    return *this;
  }
  Case& Forget() {
    runtime.clear_containers();
    return *this;
  }
  /// The worker is done; what it saw is what the runtime showed.
  Case& Finish(v1::WorkerState state = v1::TERMINATED) {
    worker.set_state(state);
    *worker.mutable_observation() = runtime;
    return *this;
  }
};

std::string Show(const kube::ContainerStatus& status) {
  const auto state = [](const core::ContainerState& s) {
    if (s.has_running()) return std::string("running");
    if (s.has_terminated())
      return fmt::format("ended {} {}", s.terminated().exit_code(), s.terminated().reason());
    return s.has_waiting() ? "waiting " + s.waiting().reason() : std::string("-");
  };
  return state(status.state()) + ", last " + state(status.last_state()) + ", restarts " +
         std::to_string(status.restart_count());
}

const core::PodCondition& Condition(const kube::PodStatus& status, const std::string& type) {
  for (const auto& condition : status.conditions())
    if (condition.type() == type) return condition;
  static const core::PodCondition none;
  return none;
}

std::string ShowCondition(const kube::PodStatus& status, const std::string& type) {
  const auto& c = Condition(status, type);
  return c.status() + (c.reason().empty() ? "" : " " + c.reason()) +
         (c.message().empty() ? "" : ": " + c.message());
}

const std::string kOne = "containers: [{name: a, image: x}]";
const std::string kTwo = "containers: [{name: a, image: x}, {name: b, image: x}]";
const std::string kInit =
    "initContainers: [{name: init, image: x}], containers: [{name: a, image: x}]";
const std::string kSidecar =
    "initContainers: [{name: side, image: x, restartPolicy: Always, startupProbe: {exec: {command: "
    "[x]}}}], containers: [{name: a, image: x}]";

TEST(PodStatus, ANewPodWaits) {
  const auto status = Case(kTwo).Compute();
  EXPECT_EQ(status.phase(), "Pending");
  EXPECT_EQ(Show(status.container_statuses(0)), "waiting ContainerCreating, last -, restarts 0");
  EXPECT_EQ(ShowCondition(status, "Ready"),
            "False ContainersNotReady: containers with unready status: [a b]");
  EXPECT_EQ(ShowCondition(status, "PodReadyToStartContainers"), "False");
  EXPECT_EQ(ShowCondition(status, "PodScheduled"), "True");
  EXPECT_EQ(status.qos_class(), "BestEffort");
  EXPECT_EQ(status.start_time().seconds(), 900);
  EXPECT_EQ(status.start_time().nanos(), 0);
  EXPECT_EQ(status.host_ip(), "192.168.1.2");
}

TEST(PodStatus, ANewPodWithInitContainersInitializes) {
  const auto status = Case(kInit).Compute();
  EXPECT_EQ(Show(status.init_container_statuses(0)), "waiting PodInitializing, last -, restarts 0");
  EXPECT_EQ(Show(status.container_statuses(0)), "waiting PodInitializing, last -, restarts 0");
  EXPECT_EQ(ShowCondition(status, "Initialized"),
            "False ContainersNotInitialized: containers with incomplete status: [init]");
}

TEST(PodStatus, ARunningPodIsReady) {
  const auto status = Case(kInit)
                          .Sandbox()
                          .Container("init", State::EXITED, 0)
                          .Container("a", State::RUNNING)
                          .Compute();
  EXPECT_EQ(status.phase(), "Running");
  EXPECT_EQ(ShowCondition(status, "Initialized"), "True");
  EXPECT_EQ(ShowCondition(status, "Ready"), "True");
  EXPECT_EQ(ShowCondition(status, "PodReadyToStartContainers"), "True");
  EXPECT_EQ(status.pod_ip(), "10.0.0.5");
  EXPECT_EQ(status.container_statuses(0).container_id(), "containerd://a-2");
  EXPECT_EQ(status.container_statuses(0).state().running().started_at().seconds(), 950);
  EXPECT_TRUE(status.container_statuses(0).ready());
}

TEST(Phase, OfEveryMixOfContainers) {
  const std::string never = ", restartPolicy: Never", on_failure = ", restartPolicy: OnFailure";
  const auto two = [](const std::string& spec, int first, int second) {
    return Case(spec)
        .Sandbox()
        .Container("a", State::EXITED, first)
        .Container("b", State::EXITED, second);
  };
  const std::string own =
      "containers: [{name: a, image: x, restartPolicy: Never}, {name: b, image: x}]";
  const std::string both =
      "containers: [{name: a, image: x, restartPolicy: Never}, {name: b, image: x, restartPolicy: "
      "Never}]";
  const struct {
    const char* name;
    Case pod;
    const char* want;
  } kCases[] = {
      {"a failed init container that may not run again",
       Case(kInit + never).Sandbox().Container("init", State::EXITED, 1).Finish(), "Failed"},
      {"a failed init container that runs again",
       Case(kInit).Sandbox().Container("init", State::EXITED, 1), "Pending"},
      {"a sidecar that has not started, nothing else yet",
       Case(kSidecar).Sandbox().Container("side", State::RUNNING), "Pending"},
      {"a sidecar that has not started again, beside a container",
       Case(kSidecar).Sandbox().Container("side", State::RUNNING).Container("a", State::RUNNING),
       "Running"},
      {"the main container is done, its sidecar goes on",
       Case(kSidecar + never)
           .Sandbox()
           .Container("side", State::RUNNING)
           .Container("a", State::EXITED),
       "Running"},
      {"the sidecar ends after it, however",
       Case(kSidecar + never)
           .Sandbox()
           .Container("side", State::EXITED, 137)
           .Container("a", State::EXITED, 0)
           .Finish(),
       "Succeeded"},
      {"0 and 1, never restarted", two(kTwo + never, 0, 1).Finish(), "Failed"},
      {"0 and 1, restarted on failure", two(kTwo + on_failure, 0, 1), "Running"},
      {"0 and 1, always restarted", two(kTwo, 0, 1), "Running"},
      {"0 and 0, restarted on failure", two(kTwo + on_failure, 0, 0).Finish(), "Succeeded"},
      {"0 and 0, always restarted", two(kTwo, 0, 0), "Running"},
      {"0 and 0, always restarted, stopped for good", two(kTwo, 0, 0).Finish(), "Succeeded"},
      {"a container's own policy beside one that runs",
       Case(own).Sandbox().Container("a", State::EXITED, 1).Container("b", State::RUNNING),
       "Running"},
      {"both by their own policy", two(both, 0, 1).Finish(), "Failed"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Case pod = c.pod;
    EXPECT_EQ(pod.Compute().phase(), c.want);
  }
}

TEST(Phase, AStaticPodThatIsAlwaysRestartedStaysRunning) {
  Case pod = Case(kOne).Sandbox().Container("a", State::EXITED, 0).Finish();
  (*pod.pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "file";
  EXPECT_EQ(pod.Compute().phase(), "Running");
}

TEST(Phase, ATerminalPhaseHidesUntilNothingCanRun) {
  Case pod =
      Case(kOne + ", restartPolicy: Never").Sandbox().Container("a", State::RUNNING).Remember();
  pod.Forget().Container("a", State::EXITED, 1);
  EXPECT_EQ(pod.Compute().phase(), "Running");
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)), "ended 1 Error, last -, restarts 0");
  pod.worker.set_state(v1::TERMINATING);
  *pod.worker.mutable_observation() = pod.runtime;
  EXPECT_EQ(pod.Compute().phase(), "Running");
  pod.worker.set_state(v1::TERMINATED);
  pod.worker.mutable_terminal_status()->set_phase("Failed");
  EXPECT_EQ(pod.Compute().phase(), "Failed");
  EXPECT_EQ(ShowCondition(pod.Compute(), "Ready"), "False PodFailed");
}

TEST(Phase, APublishedTerminalPhaseIsAFloor) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING).Remember();
  pod.previous.set_phase("Failed");
  pod.previous.set_reason("Evicted");
  const auto status = pod.Compute();
  EXPECT_EQ(status.phase(), "Failed");
  EXPECT_EQ(status.reason(), "Evicted");
}

TEST(Phase, AnEvictedPodIsFailedAndDisrupted) {
  Case pod = Case(kOne).Sandbox().Container("a", State::EXITED, 137).Remember();
  pod.worker.set_evicted(true);
  pod.worker.mutable_terminal_status()->set_phase("Failed");
  pod.worker.mutable_terminal_status()->set_reason("Evicted");
  pod.worker.mutable_terminal_status()->set_message("The node was low on resource: memory. ");
  EXPECT_EQ(ShowCondition(pod.Compute(), "DisruptionTarget"), "");
  const auto status = pod.Finish().Compute();
  EXPECT_EQ(status.reason(), "Evicted");
  EXPECT_EQ(ShowCondition(status, "DisruptionTarget"),
            "True TerminationByKubelet: The node was low on resource: memory. ");
  pod.worker.mutable_terminal_status()->set_reason("Preempting");
  EXPECT_EQ(ShowCondition(pod.Compute(), "DisruptionTarget"),
            "True TerminationByKubelet: Pod was preempted by Kubelet to accommodate a critical "
            "pod.");
}

TEST(Phase, TheObservationOfTheWorkerCountsOnceItEnds) {
  Case pod =
      Case(kOne + ", restartPolicy: Never").Sandbox().Container("a", State::EXITED, 0).Finish();
  pod.Forget().Container("a", State::RUNNING);
  EXPECT_EQ(pod.Compute().phase(), "Succeeded");
  EXPECT_EQ(ShowCondition(pod.Compute(), "Initialized"), "True PodCompleted");
  EXPECT_EQ(ShowCondition(pod.Compute(), "ContainersReady"), "False PodCompleted");
}

TEST(Rejected, FailsWithTheReasonOfTheAdmission) {
  Case pod(kOne);
  pod.rejected = true;
  pod.admission.set_reason("OutOfcpu");
  pod.admission.set_message("Node didn't have enough resource: cpu");
  pod.admission.set_decided_at_wall_ns(970'000'000'000);
  const auto status = pod.Compute();
  EXPECT_EQ(status.phase(), "Failed");
  EXPECT_EQ(status.reason(), "OutOfcpu");
  EXPECT_EQ(status.message(), "Pod was rejected: Node didn't have enough resource: cpu");
  EXPECT_EQ(status.qos_class(), "BestEffort");
  EXPECT_EQ(status.container_statuses_size(), 0);
}

TEST(Rejected, AStaticPodThatIsGrantedAfterAllRuns) {
  Case pod(kOne);
  pod.desired.set_source("file");
  pod.rejected = true;
  pod.Remember();
  pod.rejected = false;
  EXPECT_EQ(pod.Sandbox().Container("a", State::RUNNING).Compute().phase(), "Running");
}

TEST(Waiting, IsPendingWithTheReasonOfTheAdmissionAndWithoutContainers) {
  Case pod("initContainers: [{name: i, image: x}], containers: [{name: c, image: x}]");
  pod.desired.set_source("file");
  pod.admission.set_decision(v1::AdmissionRecord::WAITING);
  pod.admission.set_reason("OutOfcpu");
  pod.admission.set_message("Node didn't have enough resource: cpu");
  pod.worker.set_granted(false);
  const auto waits = pod.Compute();
  EXPECT_EQ(waits.phase(), "Pending");
  EXPECT_EQ(waits.reason(), "OutOfcpu");
  EXPECT_EQ(waits.message(), "Node didn't have enough resource: cpu");
  EXPECT_EQ(waits.container_statuses_size() + waits.init_container_statuses_size(), 0);
  EXPECT_FALSE(waits.has_start_time());
  EXPECT_TRUE(ShowCondition(waits, "Ready").starts_with("False ContainersNotReady"));
  EXPECT_TRUE(ShowCondition(waits, "Initialized").starts_with("False"));
  EXPECT_TRUE(ShowCondition(waits, "PodScheduled").starts_with("True"));
  // Room came: what it waited for is shown no more.
  pod.Previous(waits);
  pod.admission.set_decision(v1::AdmissionRecord::ADMITTED);
  EXPECT_EQ(pod.Compute().reason(), "");
  pod.worker.set_granted(true);
  pod.Sandbox();
  EXPECT_EQ(pod.Compute().phase(), "Pending");
  EXPECT_EQ(pod.Compute().reason(), "");
  EXPECT_EQ(pod.Compute().message(), "");
}

TEST(Waiting, AfterARefusalIsToldAndAfterAnEndIsNot) {
  Case pod("containers: [{name: c, image: x}]");
  pod.desired.set_source("file");
  pod.admission.set_decision(v1::AdmissionRecord::WAITING);
  pod.admission.set_reason("NodePorts");
  pod.worker.set_granted(false);
  kube::PodStatus failed;
  failed.set_phase("Failed");
  pod.Previous(failed);
  EXPECT_EQ(pod.Compute().phase(), "Pending");
  failed.add_container_statuses()->set_name("c");
  pod.Previous(failed);
  EXPECT_EQ(pod.Compute().phase(), "Failed") << "it has run";
}

TEST(Deleted, AManifestThatSaysSoIsPendingAndLosesNothing) {
  Case pod("containers: [{name: c, image: x}]");
  pod.pod.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  pod.desired.set_source("file");
  pod.covers = true;
  pod.worker.set_granted(false);
  for (const auto state : {v1::SYNCING, v1::FINISHED}) {
    pod.worker.set_state(state);
    const auto status = pod.Compute();
    EXPECT_EQ(status.phase(), "Pending");
    EXPECT_EQ(status.reason(), "");
    EXPECT_EQ(status.container_statuses_size(), 0);
    pod.Previous(status);
  }
  // A container that ran before shows how it ended.
  pod.worker.set_granted(true);
  pod.Container("c", State::EXITED, 1);
  *pod.worker.mutable_observation() = pod.runtime;
  EXPECT_EQ(pod.Compute().container_statuses_size(), 1);
}

TEST(Containers, LostOnesAreCalledSoOnlyUnderACoveringListing) {
  const auto running = [] {
    return Case(kOne).Sandbox().Container("a", State::RUNNING).Remember().Forget();
  };
  Case unseen = running();
  EXPECT_EQ(Show(unseen.Compute().container_statuses(0)), "running, last -, restarts 0");
  Case lost = running();
  lost.covers = true;
  EXPECT_EQ(Show(lost.Compute().container_statuses(0)),
            "waiting ContainerCreating, last ended 137 ContainerStatusUnknown, restarts 1");
  EXPECT_EQ(lost.Compute().phase(), "Running");
  Case deleted = running();
  deleted.covers = true;
  deleted.pod.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  EXPECT_EQ(Show(deleted.Compute().container_statuses(0)),
            "waiting ContainerCreating, last ended 137 ContainerStatusUnknown, restarts 0");
  Case again = running();
  again.previous.mutable_container_statuses(0)->mutable_last_state()->mutable_terminated();
  again.covers = true;
  EXPECT_EQ(Show(again.Compute().container_statuses(0)),
            "waiting ContainerCreating, last ended 0 , restarts 0");
}

TEST(Containers, AnEarlierIncarnationSaysNothingOfThisOne) {
  Case pod = Case(kOne).Sandbox().Container("a", State::EXITED, 1);
  pod.desired.set_incarnation(7);
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)), "ended 1 Error, last -, restarts 0")
      << "a kubelet's records belong to the present incarnation";
  pod.runtime.mutable_containers(0)->set_incarnation(6);
  pod.runtime.mutable_sandboxes(0)->set_incarnation(6);
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)),
            "waiting ContainerCreating, last -, restarts 0");
  EXPECT_EQ(pod.Compute().phase(), "Pending");
  EXPECT_EQ(pod.Compute().pod_ip(), "");
}

TEST(Containers, WhatHasBegunAndIsGoneHasEnded) {
  Case pod = Case(kOne + ", restartPolicy: Never").Sandbox();
  auto& attempt = *pod.worker.add_started_attempts();
  attempt.set_name("a");
  attempt.set_attempt(3);
  attempt.set_restart_count(1);
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)),
            "waiting ContainerCreating, last -, restarts 0")
      << "the listing may be older than the start";
  pod.covers = true;
  const auto lost = pod.Compute().container_statuses(0);
  EXPECT_EQ(Show(lost), "ended 137 ContainerStatusUnknown, last -, restarts 1");
  EXPECT_EQ(lost.container_id(), "");
  EXPECT_FALSE(lost.state().terminated().has_finished_at());
  Case ended = Case(kOne + ", restartPolicy: Never").Sandbox().Container("a", State::EXITED, 0);
  ended.Remember().Forget();
  ended.covers = true;
  ended.worker.add_started_attempts()->set_name("a");
  EXPECT_EQ(Show(ended.Compute().container_statuses(0)), "ended 0 Completed, last -, restarts 0")
      << "its end was shown before";
}

TEST(Containers, UnknownAfterRunningHasEnded) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING).Remember();
  pod.Forget().Container("a", State::UNKNOWN);
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)),
            "ended 137 ContainerStatusUnknown, last -, restarts 1");
  EXPECT_EQ(Show(Case(kOne).Container("a", State::UNKNOWN).Compute().container_statuses(0)),
            "waiting , last -, restarts 0");
}

TEST(Containers, TheSecondNewestIsTheLastState) {
  const auto status = Case(kOne)
                          .Sandbox()
                          .Container("a", State::EXITED, 3)
                          .Container("a", State::EXITED, 2)
                          .Container("a", State::EXITED, 1)
                          .Compute();
  EXPECT_EQ(Show(status.container_statuses(0)), "ended 3 Error, last ended 2 Error, restarts 0");
}

TEST(Containers, BackOffMovesTheEndToTheLastState) {
  Case pod = Case(kOne).Sandbox().Container("a", State::EXITED, 1);
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)), "ended 1 Error, last -, restarts 0");
  pod.Note("a", "CrashLoopBackOff", "back-off 10s restarting failed container");
  const auto status = pod.Compute();
  EXPECT_EQ(Show(status.container_statuses(0)),
            "waiting CrashLoopBackOff, last ended 1 Error, restarts 0");
  EXPECT_EQ(status.container_statuses(0).state().waiting().message(),
            "back-off 10s restarting failed container");
  EXPECT_EQ(status.phase(), "Running");
}

TEST(Containers, WhatRanAndIsNotListedJustNowDoesNotWaitForWhatFailedBefore) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING).Remember().Forget();
  pod.Note("a", "RunContainerError", "the answer was lost");
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)), "running, last -, restarts 0");
  EXPECT_TRUE(pod.Compute().container_statuses(0).ready());
  pod.covers = true;
  EXPECT_EQ(Show(pod.Compute().container_statuses(0)),
            "waiting RunContainerError, last ended 137 ContainerStatusUnknown, restarts 1");
}

TEST(Containers, AnImageThatCannotBePulledShows) {
  const auto status =
      Case(kOne).Sandbox().Note("a", "ImagePullBackOff", "Back-off pulling image").Compute();
  EXPECT_EQ(Show(status.container_statuses(0)), "waiting ImagePullBackOff, last -, restarts 0");
  EXPECT_EQ(status.phase(), "Pending");
}

TEST(Containers, AnInitContainerWithoutRecordHasEndedWhereThePodHasMovedOn) {
  const auto status = Case(kInit).Sandbox().Container("a", State::RUNNING).Compute();
  EXPECT_EQ(Show(status.init_container_statuses(0)), "ended 0 Completed, last -, restarts 0");
  EXPECT_EQ(status.phase(), "Running");
}

TEST(Containers, LongMessagesAreCutToTheirShare) {
  Case pod(
      "containers: [{name: a, image: x}, {name: b, image: x}, {name: c, image: x}, {name: d, "
      "image: x}]");
  for (const char* name : {"a", "b", "c", "d"}) pod.Container(name, State::EXITED, 1);
  for (auto& record : *pod.runtime.mutable_containers())
    record.set_message(std::string(10240, 'm'));
  const auto status = pod.Compute();
  for (const auto& one : status.container_statuses())
    EXPECT_EQ(one.state().terminated().message().size(), 3072U);
}

TEST(Flags, ReadinessNeedsAResultOfThisContainer) {
  const std::string probed =
      "containers: [{name: a, image: x, readinessProbe: {exec: {command: [x]}}}]";
  const auto ready = [](Case pod) { return pod.Compute().container_statuses(0).ready(); };
  const Case running = Case(probed).Sandbox().Container("a", State::RUNNING);
  EXPECT_FALSE(ready(running));
  EXPECT_TRUE(ready(Case(running).Probe("a-1", "readiness", true)));
  EXPECT_FALSE(ready(Case(running).Probe("a-1", "readiness", false)));
  EXPECT_FALSE(ready(Case(running).Probe("other", "readiness", true)));
}

TEST(Flags, StaleWorkersKeepThemAndRaiseNone) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING);
  pod.workers_live = false;
  EXPECT_FALSE(pod.Compute().container_statuses(0).ready());
  pod.workers_live = true;
  pod.Remember();
  pod.workers_live = false;
  EXPECT_TRUE(pod.Compute().container_statuses(0).ready());
  pod.previous.mutable_container_statuses(0)->set_ready(false);
  EXPECT_FALSE(pod.Compute().container_statuses(0).ready());
  pod.previous.mutable_container_statuses(0)->set_ready(true);
  pod.runtime.mutable_containers(0)->set_id("another");
  EXPECT_FALSE(pod.Compute().container_statuses(0).ready());
}

TEST(Conditions, ReadinessGatesDecideLast) {
  Case pod =
      Case(kOne +
           ", readinessGates: [{conditionType: example.com/a}, {conditionType: example.com/b}]")
          .Sandbox()
          .Container("a", State::RUNNING);
  auto* other = pod.pod.mutable_status()->add_conditions();
  other->set_type("example.com/b");
  other->set_status("False");
  const auto status = pod.Compute();
  EXPECT_EQ(ShowCondition(status, "ContainersReady"), "True");
  EXPECT_EQ(
      ShowCondition(status, "Ready"),
      "False ReadinessGatesNotReady: corresponding condition of pod readiness gate "
      "\"example.com/a\" does not exist., the status of pod readiness gate \"example.com/b\" is "
      "not \"True\", but False");
  EXPECT_EQ(ShowCondition(status, "example.com/b"), "False");
}

TEST(Conditions, TransitionTimesMoveOnlyWithTheStatus) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING).Remember();
  pod.now += 60s;
  EXPECT_EQ(kube::ToJson(pod.Compute()), kube::ToJson(pod.previous));
  pod.runtime.mutable_containers(0)->set_started_at_ns(990'000'000'000);
  EXPECT_EQ(Condition(pod.Compute(), "Ready").last_transition_time().seconds(), 950);
  pod.runtime.mutable_containers(0)->set_state(State::EXITED);
  EXPECT_EQ(Condition(pod.Compute(), "Ready").last_transition_time().seconds(), 1060);
  EXPECT_EQ(Condition(pod.Compute(), "PodScheduled").last_transition_time().seconds(), 900);
}

/// Started at 950, and at 960 when it ended.
struct Span {
  std::string name;
  State::State state = State::RUNNING;
  int64_t from = 950, to = 960;
  int exit_code = 0;
};

/// Seconds; the start of the pod is 900, now is 1000.
int64_t FirstSince(const std::string& spec, const std::vector<Span>& spans, const char* type,
                   bool sandbox_ready = true) {
  Case pod = Case(spec).Sandbox(sandbox_ready);
  pod.runtime.mutable_sandboxes(0)->set_created_at_ns(940'000'000'000);
  for (const auto& span : spans) {
    pod.Container(span.name, span.state, span.exit_code);
    auto* record = pod.runtime.mutable_containers(pod.runtime.containers_size() - 1);
    record->set_started_at_ns(span.from * 1'000'000'000);
    if (span.state == State::EXITED) record->set_finished_at_ns(span.to * 1'000'000'000);
  }
  return Condition(pod.Compute(), type).last_transition_time().seconds();
}

TEST(Conditions, TransitionTimesOfAFirstStatusAreWhatTheRecordsShow) {
  const char* scheduled = "PodScheduled";
  const char* sandbox = "PodReadyToStartContainers";
  const char* initialized = "Initialized";
  const char* ready = "Ready";
  const std::string sidecar =
      "initContainers: [{name: side, image: x, restartPolicy: Always}], " + kOne;
  const Span a{"a"}, init{"init", State::EXITED};
  EXPECT_EQ(FirstSince(kOne, {a}, scheduled), 900);
  EXPECT_EQ(FirstSince(kOne, {a}, sandbox), 940);
  EXPECT_EQ(FirstSince(kOne, {a}, sandbox, false), 1000) << "nothing shows when it ended";
  EXPECT_EQ(FirstSince(kInit, {init, a}, initialized), 960);
  EXPECT_EQ(FirstSince(kInit, {{"init", State::EXITED, 980, 990, 1}}, initialized), 900)
      << "never yet, however often it was tried";
  EXPECT_EQ(FirstSince(sidecar, {{"side", State::RUNNING, 990}, a}, initialized), 900)
      << "a sidecar that came again";
  EXPECT_EQ(FirstSince(kOne, {a}, ready), 950);
  EXPECT_EQ(FirstSince(kOne, {a}, "ContainersReady"), 950);
  EXPECT_EQ(FirstSince(kTwo, {a, {"b", State::RUNNING, 970}}, ready), 970);
  EXPECT_EQ(FirstSince(sidecar, {{"side", State::EXITED, 945, 980, 1}, a}, ready), 980);
  EXPECT_EQ(FirstSince(kTwo, {{"a", State::EXITED}, {"b", State::RUNNING, 990}}, ready), 960);
  EXPECT_EQ(FirstSince(kTwo, {a}, ready), 900) << "the other never ran";
  EXPECT_EQ(FirstSince(kOne, {{"a", State::EXITED, 950, 2000}}, ready), 1000)
      << "a clock that went back makes no time to come";
}

TEST(Conditions, ThePodThatBeginsToEndKeepsItsSandboxUntilTheWorkerHasLooked) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING).Remember();
  const char* sandbox = "PodReadyToStartContainers";
  pod.worker.set_state(v1::TERMINATING);
  EXPECT_EQ(ShowCondition(pod.Compute(), sandbox), "True") << "not inspected yet";
  *pod.worker.mutable_observation() = pod.runtime;
  EXPECT_EQ(ShowCondition(pod.Remember().Compute(), sandbox), "True");
  pod.worker.mutable_observation()->mutable_sandboxes(0)->set_state(v1::SandboxRecord::NOT_READY);
  EXPECT_EQ(ShowCondition(pod.Remember().Compute(), sandbox), "False");
  pod.worker.clear_observation();
  EXPECT_EQ(ShowCondition(pod.Compute(), sandbox), "False") << "the last status stands";
}

TEST(Conditions, WhyARunningContainerIsNotReadyNoRecordShows) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING);
  pod.workers_live = false;
  ASSERT_EQ(Condition(pod.Compute(), "Ready").status(), "False");
  EXPECT_EQ(Condition(pod.Compute(), "Ready").last_transition_time().seconds(), 1000);
}

TEST(Conditions, ASandboxIsUsableAloneNewestAndWithAnAddress) {
  const auto usable = [](const Case& pod) {
    return cri::CheckSandbox(pod.pod, pod.runtime) == cri::SandboxCheck::kUsable;
  };
  EXPECT_TRUE(usable(Case(kOne).Sandbox().Sandbox(false)));
  EXPECT_FALSE(usable(Case(kOne).Sandbox(false).Sandbox()));
  EXPECT_FALSE(usable(Case(kOne).Sandbox().Sandbox()));
  Case without = Case(kOne).Sandbox();
  without.runtime.mutable_sandboxes(0)->clear_ips();
  EXPECT_FALSE(usable(without));
  Case host = Case(kOne + ", hostNetwork: true").Sandbox();
  EXPECT_FALSE(usable(host));
  host.runtime.mutable_sandboxes(0)->set_host_network(true);
  host.runtime.mutable_sandboxes(0)->clear_ips();
  EXPECT_TRUE(usable(host));
  EXPECT_EQ(host.Compute().pod_ip(), "192.168.1.2");
}

TEST(Finished, WhatNeverEndedIsClosedWithoutSuccess) {
  const auto plain = Case(kOne).Finish(v1::FINISHED).Compute();
  EXPECT_EQ(Show(plain.container_statuses(0)),
            "ended 137 ContainerStatusUnknown, last -, restarts 0");
  EXPECT_EQ(plain.phase(), "Failed");
  const auto init = Case(kInit).Finish(v1::FINISHED).Compute();
  EXPECT_EQ(Show(init.init_container_statuses(0)),
            "ended 137 ContainerStatusUnknown, last -, restarts 0");
  EXPECT_EQ(Show(init.container_statuses(0)), "waiting PodInitializing, last -, restarts 0");
  EXPECT_EQ(init.phase(), "Failed");
}

TEST(Ips, AreKeptAfterTheSandboxHasStopped) {
  Case pod = Case(kOne).Sandbox().Container("a", State::RUNNING).Remember();
  pod.runtime.clear_sandboxes();
  pod.Sandbox(false).Finish();
  EXPECT_EQ(pod.Compute().pod_ip(), "10.0.0.5");
}

/// The container that causes the restart is removed last.
TEST(RestartsAll, WhatIsRemovedToBeginAnewSaysSo) {
  const std::string spec =
      "restartPolicy: Never, initContainers: [{name: i, image: x}], containers: [{name: a, image: "
      "x, "
      "restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, exitCodes: "
      "{operator: In, values: [42]}}]}, {name: b, image: x}]";
  const auto shown = [](const kube::PodStatus& status) {
    const auto& condition = *status.conditions().rbegin();
    EXPECT_EQ(condition.type(), "AllContainersRestarting");
    return fmt::format("{} {}: {}", status.phase(), condition.status(), condition.reason());
  };
  Case pod = Case(spec).Sandbox();
  pod.Container("i", State::EXITED).Container("a", State::RUNNING).Container("b", State::RUNNING);
  EXPECT_EQ(shown(pod.Remember().previous), "Running False: ");
  pod.covers = true;
  pod.Forget()
      .Container("i", State::EXITED)
      .Container("a", State::EXITED, 42)
      .Container("b", State::EXITED, 137);
  EXPECT_EQ(shown(pod.Remember().previous), "Running True: RestartAllContainersStarted");
  pod.Forget().Container("a", State::EXITED, 42);
  EXPECT_EQ(shown(pod.Remember().previous), "Running True: RestartAllContainersStarted");
  constexpr const char* kRemoved =
      "waiting RestartingAllContainers, last ended 137 RestartingAllContainers, restarts 1";
  EXPECT_EQ(Show(pod.previous.container_statuses(1)), kRemoved);
  EXPECT_EQ(Show(pod.previous.init_container_statuses(0)), kRemoved);
  pod.Forget().Remember();
  EXPECT_EQ(shown(pod.previous), "Running False: ");
  EXPECT_EQ(Show(pod.previous.container_statuses(0)), kRemoved);
  pod.Container("i", State::RUNNING);
  EXPECT_EQ(Show(pod.Compute().init_container_statuses(0)),
            "running, last ended 137 RestartingAllContainers, restarts 1");
}

}  // namespace
}  // namespace splitlet::status
