#include "services/status/pods/containers.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "services/status/pods/pod_status.h"

/// Fields of container statuses that come from the runtime, except the states.

namespace splitlet::status {
namespace {

using State = v1::ContainerRecord;

struct PodWithSandbox {
  kube::Pod pod;
  v1::DesiredRecord desired;
  v1::WorkerRecord worker;
  v1::ObservedPod seen;
  kube::PodStatus previous;
  const v1::NodeFeatures* features = nullptr;

  explicit PodWithSandbox(const std::string& spec) {
    const auto decoded = kube::DecodeInto(
        "metadata: {name: web, namespace: default, uid: u1, generation: 7}\nspec: "
        "{restartPolicy: Always, " +
            spec + "}",
        "test", kube::Strictness::kStrict, pod);
    EXPECT_TRUE(decoded.ok()) << ToString(decoded.status());
    desired.set_source("api");
    worker.set_state(v1::SYNCING);
    worker.set_granted(true);
    seen.set_runtime_name("containerd");
    auto& sandbox = *seen.add_sandboxes();
    sandbox.set_id("s1");
    sandbox.set_state(v1::SandboxRecord::READY);
    sandbox.add_ips("10.0.0.5");
  }
  State& Add(const std::string& name, State::State state, int32_t exit_code = 0) {
    auto& record = *seen.add_containers();
    record.set_id(name + "-1");
    record.set_sandbox_id("s1");
    record.set_name(name);
    record.set_state(state);
    record.set_exit_code(exit_code);
    if (state == State::EXITED) record.set_reason(exit_code == 0 ? "Completed" : "Error");
    return record;
  }
  kube::PodStatus Compute() {
    StatusInputs in{.pod = pod, .desired = desired};
    in.worker = &worker;
    in.runtime = &seen;
    in.previous = previous.has_phase() ? &previous : nullptr;
    in.host_ips = {"192.0.2.1"};
    in.features = features;
    in.now = WallFromNanos(1'000'000'000'000);
    previous = ComputePodStatus(in);
    return previous;
  }
};

TEST(ContainerUser, IsShownWhereTheRuntimeSaysIt) {
  PodWithSandbox pod("containers: [{name: a, image: x}]");
  auto& record = pod.Add("a", State::RUNNING);
  EXPECT_FALSE(pod.Compute().container_statuses(0).has_user());
  record.mutable_user()->set_uid(1000);
  record.mutable_user()->set_gid(2000);
  record.mutable_user()->add_supplemental_groups(2000);
  record.mutable_user()->add_supplemental_groups(4000);
  const auto status = pod.Compute();
  const auto& user = status.container_statuses(0).user().linux();
  EXPECT_EQ(user.uid(), 1000);
  EXPECT_EQ(user.gid(), 2000);
  ASSERT_EQ(user.supplemental_groups_size(), 2);
  EXPECT_EQ(user.supplemental_groups(1), 4000);
}

/// "requests cpu=1 memory=64Mi, limits cpu=2", in the order of the names.
std::string Shown(const k8s::io::api::core::v1::ResourceRequirements& resources) {
  const auto list = [](const auto& quantities) {
    std::map<std::string, std::string> sorted;
    for (const auto& [name, quantity] : quantities) sorted[name] = quantity.string();
    std::string text;
    for (const auto& [name, quantity] : sorted) text += " " + name + "=" + quantity;
    return text;
  };
  return "requests" + list(resources.requests()) + ", limits" + list(resources.limits());
}

TEST(ContainerResources, AreAsAllocatedAndOfWhatRunsAsTheRuntimeHasSetThem) {
  const char* kAsked = "{requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 500m, memory: 128Mi}}";
  const struct {
    const char* name;
    std::string asked;
    State::State state;
    int64_t request, limit, memory;
    const char* want;
  } kCases[] = {
      {"the runtime agrees", kAsked, State::RUNNING, 100, 500, 128 << 20,
       "requests cpu=100m memory=64Mi, limits cpu=500m memory=128Mi"},
      {"the runtime has set other values", kAsked, State::RUNNING, 200, 1000, 256 << 20,
       "requests cpu=200m memory=64Mi, limits cpu=1 memory=256Mi"},
      {"the runtime says nothing", kAsked, State::RUNNING, 0, 0, 0,
       "requests cpu=100m memory=64Mi, limits cpu=500m memory=128Mi"},
      {"it has ended", kAsked, State::EXITED, 200, 1000, 256 << 20,
       "requests cpu=100m memory=64Mi, limits cpu=500m memory=128Mi"},
      {"what the kernel gives at least is shown as it was asked for",
       "{requests: {cpu: 1m}, limits: {cpu: 5m}}", State::RUNNING, 2, 10, 0,
       "requests cpu=1m, limits cpu=5m"},
      {"what was not asked for is not shown", "{limits: {memory: 128Mi}}", State::RUNNING, 2, 300,
       128 << 20, "requests, limits memory=128Mi"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PodWithSandbox pod("containers: [{name: a, image: x, resources: " + c.asked + "}]");
    auto& actual = *pod.Add("a", c.state).mutable_resources();
    actual.set_cpu_request_millis(c.request);
    actual.set_cpu_limit_millis(c.limit);
    actual.set_memory_limit_bytes(c.memory);
    EXPECT_EQ(Shown(pod.Compute().container_statuses(0).resources()), c.want);
  }
}

TEST(ContainerResources, BeforeItIsMadeAContainerHasNone) {
  PodWithSandbox pod("containers: [{name: a, image: x, resources: {requests: {cpu: 1}}}]");
  EXPECT_FALSE(pod.Compute().container_statuses(0).has_resources());
  pod.Add("a", State::CREATED);
  const auto status = pod.Compute();
  EXPECT_TRUE(status.container_statuses(0).has_resources());
  EXPECT_EQ(status.container_statuses(0).allocated_resources().at("cpu").string(), "1");
  EXPECT_EQ(status.container_statuses(0).allocated_resources_status_size(), 0);
}

TEST(ContainerStates, WhatIsMadeAndNotStartedIsStillBeingCreated) {
  PodWithSandbox plain("containers: [{name: a, image: x}]");
  plain.Add("a", State::CREATED);
  EXPECT_EQ(plain.Compute().container_statuses(0).state().waiting().reason(), "ContainerCreating");
  PodWithSandbox init("initContainers: [{name: i, image: x}], containers: [{name: a, image: x}]");
  init.Add("i", State::CREATED);
  EXPECT_EQ(init.Compute().init_container_statuses(0).state().waiting().reason(),
            "PodInitializing");
}

/// An API server takes no container that runs after one that has ended for good.
TEST(ContainerStates, WhatIsReplacedHasNotEndedForGood) {
  const struct {
    std::string policy, note;
    int32_t exit_code;
    std::string want;
  } kCases[] = {
      {"OnFailure", "", 0, "ended"},
      {"OnFailure", "ContainerCreating", 0, "ContainerCreating"},
      {"OnFailure", "CrashLoopBackOff", 0, "CrashLoopBackOff"},
      {"Never", "", 1, "ended"},
      {"Never", "ContainerCreating", 1, "ContainerCreating"},
      {"Never", "ErrImagePull", 143, "ErrImagePull"},
      {"Never", "PostStartHookError", 143, "ended"},
      {"Always", "PostStartHookError", 143, "PostStartHookError"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.policy + " " + c.note);
    PodWithSandbox pod("containers: [{name: a, image: x}]");
    pod.pod.mutable_spec()->set_restart_policy(c.policy);
    pod.Add("a", State::RUNNING);
    pod.Compute();
    pod.seen.clear_containers();
    pod.Add("a", State::EXITED, c.exit_code);
    if (!c.note.empty()) {
      auto& note = *pod.worker.add_containers();
      note.set_name("a");
      note.set_reason(c.note);
    }
    const auto status = pod.Compute().container_statuses(0);
    EXPECT_EQ(status.state().has_terminated() ? "ended" : status.state().waiting().reason(),
              c.want);
    EXPECT_EQ(status.last_state().has_terminated(), c.want != "ended");
  }
}

/// The text of the reason decides only where pod-worker is of a version that writes no cause.
TEST(ContainerStates, TheCauseOfAReasonDecidesWhetherItIsShownForAnEndedContainer) {
  const struct {
    const char* reason;
    v1::WaitingReason::Cause cause;
    const char* want;
  } kCases[] = {
      {"PostStartHookError", v1::WaitingReason::CAUSE_UNSPECIFIED, "ended"},
      {"PostStartHookError", v1::WaitingReason::OTHER, "PostStartHookError"},
      {"AnyText", v1::WaitingReason::POST_START_HOOK, "ended"},
      {"AnyText", v1::WaitingReason::OTHER, "AnyText"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(testing::Message() << c.reason << " " << c.cause);
    PodWithSandbox pod("containers: [{name: a, image: x}]");
    pod.pod.mutable_spec()->set_restart_policy("Never");
    pod.Add("a", State::RUNNING);
    pod.Compute();
    pod.seen.clear_containers();
    pod.Add("a", State::EXITED, 143);
    auto& note = *pod.worker.add_containers();
    note.set_name("a");
    note.set_reason(c.reason);
    note.set_cause(c.cause);
    const auto state = pod.Compute().container_statuses(0).state();
    EXPECT_EQ(state.has_terminated() ? "ended" : state.waiting().reason(), c.want);
  }
}

TEST(PodResources, AreTheSums) {
  PodWithSandbox pod(
      "containers: [{name: a, image: x, resources: {requests: {cpu: 1}, limits: {memory: 1Gi}}}, "
      "{name: b, image: x, resources: {requests: {cpu: 500m}}}]");
  const auto status = pod.Compute();
  EXPECT_EQ(Shown(status.resources()), "requests cpu=1500m, limits memory=1Gi");
  EXPECT_EQ(status.allocated_resources().at("cpu").string(), "1500m");
  EXPECT_FALSE(PodWithSandbox("containers: [{name: a, image: x}]").Compute().has_resources());
}

TEST(ContainerMounts, AreShownWithWhatIsReadOnly) {
  PodWithSandbox pod(
      "containers: [{name: a, image: x, volumeMounts: [{name: v, mountPath: /v}, {name: w, "
      "mountPath: /w, readOnly: true}]}]");
  pod.Add("a", State::RUNNING);
  const auto status = pod.Compute();
  const auto& mounts = status.container_statuses(0).volume_mounts();
  ASSERT_EQ(mounts.size(), 2);
  EXPECT_EQ(mounts[0].name() + mounts[0].mount_path(), "v/v");
  EXPECT_FALSE(mounts[0].read_only() || mounts[0].has_recursive_read_only());
  EXPECT_TRUE(mounts[1].read_only());
  EXPECT_EQ(mounts[1].recursive_read_only(), "Disabled");
}

TEST(ContainerMounts, RecursivelyReadOnlyWhereTheHandlerCan) {
  const struct {
    const char *mode, *handler, *previous, *want;
  } kCases[] = {{"Disabled", "vm", "", "Disabled"},      {"IfPossible", "vm", "", "Enabled"},
                {"Enabled", "vm", "", "Enabled"},        {"IfPossible", "", "", "Disabled"},
                {"IfPossible", "other", "", "Disabled"}, {"IfPossible", nullptr, "", "Disabled"},
                {"IfPossible", nullptr, "vm", "Enabled"}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.mode) + " " + (c.handler == nullptr ? "not known" : c.handler));
    PodWithSandbox pod(
        "containers: [{name: a, image: x, volumeMounts: [{name: v, mountPath: /v, readOnly: true, "
        "recursiveReadOnly: " +
        std::string(c.mode) + "}]}]");
    pod.Add("a", State::RUNNING);
    v1::NodeFeatures features;
    features.set_known(true);
    features.add_handlers();
    auto& vm = *features.add_handlers();
    vm.set_name("vm");
    vm.set_recursive_read_only_mounts(true);
    kube::PodStatus status;
    for (const char* handler : {c.previous, c.handler}) {
      pod.features = handler == nullptr ? nullptr : &features;
      if (handler != nullptr) pod.seen.mutable_sandboxes(0)->set_runtime_handler(handler);
      status = pod.Compute();
    }
    EXPECT_EQ(status.container_statuses(0).volume_mounts(0).recursive_read_only(), c.want);
  }
}

TEST(Started, ComesWithTheSuccessOfTheStartupProbe) {
  PodWithSandbox pod(
      "containers: [{name: a, image: x, startupProbe: {exec: {command: [x]}}, readinessProbe: "
      "{exec: {command: [x]}}}]");
  pod.Add("a", State::RUNNING);
  EXPECT_FALSE(pod.Compute().container_statuses(0).started());
  auto& result = *pod.worker.add_probes();
  result.set_container_id("a-1");
  result.set_kind("startup");
  result.set_success(false);
  EXPECT_FALSE(pod.Compute().container_statuses(0).started());
  result.set_success(true);
  const auto status = pod.Compute();
  EXPECT_TRUE(status.container_statuses(0).started());
  EXPECT_FALSE(status.container_statuses(0).ready()) << "no result of readiness yet";
}

/// The text decides only where pod-worker is of a version that writes nothing else.
TEST(Started, ComesWithTheProbeThatTheResultNames) {
  const struct {
    const char* kind;
    v1::ProbeResult::Probe probe;
    bool want;
  } kCases[] = {
      {"startup", v1::ProbeResult::PROBE_UNSPECIFIED, true},
      {"liveness", v1::ProbeResult::PROBE_UNSPECIFIED, false},
      {"startup", v1::ProbeResult::LIVENESS, false},
      {"any text", v1::ProbeResult::STARTUP, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(testing::Message() << c.kind << " " << c.probe);
    PodWithSandbox pod("containers: [{name: a, image: x, startupProbe: {exec: {command: [x]}}}]");
    pod.Add("a", State::RUNNING);
    auto& result = *pod.worker.add_probes();
    result.set_container_id("a-1");
    result.set_kind(c.kind);
    result.set_probe(c.probe);
    result.set_success(true);
    EXPECT_EQ(pod.Compute().container_statuses(0).started(), c.want);
  }
}

/// Between two inspections a container was lost, and the next attempt started.
TEST(Restarted, WithoutARecordOfHowItEndedTheOneBeforeIsLost) {
  const struct {
    const char* name;
    int restarts;  // of the one that runs now
    bool record;   // of the one before
    const char* last;
  } kCases[] = {
      {"its record is gone", 1, false, "137 ContainerStatusUnknown"},
      {"its record is there", 1, true, "3 Error"},
      {"no attempt of before", 0, false, "0 "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PodWithSandbox pod("containers: [{name: a, image: x}]");
    pod.pod.mutable_spec()->set_restart_policy("OnFailure");
    pod.Add("a", State::RUNNING);
    pod.Compute();
    pod.seen.clear_containers();
    auto& now = pod.Add("a", State::RUNNING);
    now.set_id("a-2");
    now.set_restart_count(c.restarts);
    if (c.record) pod.Add("a", State::EXITED, 3);
    const auto status = pod.Compute();
    const auto& last = status.container_statuses(0).last_state().terminated();
    EXPECT_EQ(fmt::format("{} {}", last.exit_code(), last.reason()), c.last);
    EXPECT_EQ(status.container_statuses(0).restart_count(), c.restarts);
    EXPECT_EQ(status.phase(), "Running");
  }
}

TEST(Succeeded, ThePodIsCompletedAndNotReady) {
  PodWithSandbox pod("containers: [{name: a, image: x}]");
  pod.pod.mutable_spec()->set_restart_policy("Never");
  pod.worker.set_state(v1::TERMINATED);
  pod.worker.mutable_terminal_status()->set_phase("Succeeded");
  pod.Add("a", State::EXITED);
  *pod.worker.mutable_observation() = pod.seen;
  const auto status = pod.Compute();
  EXPECT_EQ(status.phase(), "Succeeded");
  int shown = 0;
  for (const auto& condition : status.conditions()) {
    if (condition.type() != "Ready" && condition.type() != "ContainersReady") continue;
    EXPECT_EQ(condition.status(), "False");
    EXPECT_EQ(condition.reason(), "PodCompleted");
    ++shown;
  }
  EXPECT_EQ(shown, 2);
}

TEST(Sidecar, OneThatEndedWellStaysSoInItsBackOff) {
  PodWithSandbox pod(
      "containers: [{name: a, image: x}], initContainers: [{name: s, image: x, restartPolicy: "
      "Always}]");
  pod.Add("a", State::RUNNING);
  auto& sidecar = pod.Add("s", State::EXITED);
  auto& note = *pod.worker.add_containers();
  note.set_name("s");
  note.set_reason("CrashLoopBackOff");
  EXPECT_TRUE(pod.Compute().init_container_statuses(0).state().has_terminated());
  sidecar.set_exit_code(1);
  EXPECT_EQ(pod.Compute().init_container_statuses(0).state().waiting().reason(),
            "CrashLoopBackOff");
}

TEST(InitContainer, OneThatFailsAndRunsAgainLeavesARunningPodRunning) {
  PodWithSandbox pod("containers: [{name: a, image: x}], initContainers: [{name: i, image: x}]");
  pod.Add("a", State::EXITED, 1);
  pod.Add("i", State::EXITED, 1);
  EXPECT_EQ(pod.Compute().phase(), "Running");
}

constexpr const char* kDebugged =
    "containers: [{name: a, image: x}], ephemeralContainers: [{name: z, image: x}, {name: debug, "
    "image: x}]";

TEST(EphemeralStatus, FollowsTheRuntimeAndDecidesNothing) {
  PodWithSandbox pod(kDebugged);
  pod.Add("a", State::RUNNING);
  auto status = pod.Compute();
  ASSERT_EQ(status.ephemeral_container_statuses_size(), 2);
  EXPECT_EQ(status.ephemeral_container_statuses(0).name(), "debug") << "by name";
  const auto* debug = &status.ephemeral_container_statuses(0);
  EXPECT_EQ(debug->state().waiting().reason(), "ContainerCreating");
  EXPECT_EQ(status.phase(), "Running");

  auto& record = pod.Add("debug", State::RUNNING);
  status = pod.Compute();
  debug = &status.ephemeral_container_statuses(0);
  EXPECT_TRUE(debug->state().has_running());
  EXPECT_EQ(debug->container_id(), "containerd://debug-1");
  EXPECT_FALSE(debug->ready());
  EXPECT_FALSE(debug->has_started());

  record.set_state(State::EXITED);
  record.set_exit_code(3);
  record.set_reason("Error");
  status = pod.Compute();
  debug = &status.ephemeral_container_statuses(0);
  EXPECT_EQ(debug->state().terminated().exit_code(), 3);
  EXPECT_EQ(debug->restart_count(), 0);
  EXPECT_EQ(status.phase(), "Running");
  for (const auto& condition : status.conditions())
    EXPECT_EQ(condition.status(), "True") << condition.type();
}

TEST(EphemeralStatus, SaysWhyOneWaits) {
  PodWithSandbox pod(kDebugged);
  pod.Add("a", State::RUNNING);
  auto& note = *pod.worker.add_containers();
  note.set_name("debug");
  note.set_reason("CreateContainerConfigError");
  note.set_message("unable to find target container b");
  auto status = pod.Compute();
  const auto& waiting = status.ephemeral_container_statuses(0).state().waiting();
  EXPECT_EQ(waiting.reason(), "CreateContainerConfigError");
  EXPECT_EQ(waiting.message(), "unable to find target container b");
  pod.Add("debug", State::EXITED, 1);
  status = pod.Compute();
  EXPECT_TRUE(status.ephemeral_container_statuses(0).state().has_terminated())
      << "it is not started again";
}

/// Through the whole end of a pod: what runs less and less.
TEST(DyingPod, ItsConditionsGoOneWayOnly) {
  PodWithSandbox pod("containers: [{name: a, image: x}, {name: b, image: x}]");
  pod.Add("a", State::RUNNING);
  pod.Add("b", State::RUNNING);
  const auto said = [&pod](const char* type) {
    for (const auto& condition : pod.previous.conditions())
      if (condition.type() == type) return condition.status() + " " + condition.reason();
    return std::string("none");
  };
  pod.Compute();
  ASSERT_EQ(said("Ready"), "True ");
  pod.worker.set_state(v1::TERMINATING);
  *pod.worker.mutable_observation() = pod.seen;
  pod.Compute();
  EXPECT_EQ(said("Ready"), "True ") << "it serves as long as it runs";
  const auto end = [&pod](int index) {
    auto& record = *pod.worker.mutable_observation()->mutable_containers(index);
    record.set_state(State::EXITED);
    record.set_exit_code(143);
    record.set_reason("Error");
  };
  end(0);
  pod.Compute();
  EXPECT_EQ(said("Ready"), "False ContainersNotReady");
  // The worker restarts and has not inspected the pod yet.
  const auto inspected = pod.worker.observation();
  pod.worker.clear_observation();
  pod.Compute();
  EXPECT_EQ(said("Ready"), "False ContainersNotReady");
  EXPECT_EQ(said("ContainersReady"), "False ContainersNotReady");
  EXPECT_EQ(said("Initialized"), "True ");
  *pod.worker.mutable_observation() = inspected;
  end(1);
  pod.worker.mutable_observation()->mutable_sandboxes(0)->set_state(v1::SandboxRecord::NOT_READY);
  pod.Compute();
  EXPECT_EQ(said("Ready"), "False ContainersNotReady");
  EXPECT_EQ(said("PodReadyToStartContainers"), "False ");
  pod.worker.set_state(v1::TERMINATED);
  pod.worker.mutable_terminal_status()->set_phase("Failed");
  for (int i = 0; i < 2; ++i) {
    pod.Compute();
    EXPECT_EQ(said("Ready"), "False PodFailed");
    EXPECT_EQ(pod.previous.phase(), "Failed");
    EXPECT_EQ(pod.previous.pod_ip(), "10.0.0.5");
    EXPECT_EQ(pod.previous.observed_generation(), 7);
  }
}

}  // namespace
}  // namespace splitlet::status
