#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/kube/codec.h"
#include "services/status/pods/pod_status.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {
namespace {

/// A status is computed from the one before: of a pod that has ended and never ran, too, the next
/// one says the same, also after a restart that forgets the one before.
TEST(FinishedStatus, ComesToTheSamePhaseAgain) {
  for (const char* policy : {"Always", "OnFailure", "Never"}) {
    SCOPED_TRACE(policy);
    kube::Pod pod;
    const auto decoded = kube::DecodeInto(
        fmt::format("metadata: {{name: web, uid: u1, annotations: {{kubernetes.io/config.source: "
                    "file}}}}\nspec: {{restartPolicy: {}, containers: [{{name: a, image: x}}]}}",
                    policy),
        "test", kube::Strictness::kStrict, pod);
    ASSERT_TRUE(decoded.ok()) << ToString(decoded.status());
    v1::DesiredRecord desired;
    desired.set_source("file");
    desired.set_state(v1::DesiredRecord::REMOVED);
    v1::WorkerRecord worker;
    worker.set_state(v1::FINISHED);
    StatusInputs in{.pod = pod, .desired = desired, .worker = &worker, .now = WallFromNanos(1)};
    const kube::PodStatus first = ComputePodStatus(in);
    // A pod that ended before any container started is never shown as running.
    EXPECT_EQ(first.phase(), "Pending");
    in.previous = &first;
    EXPECT_EQ(ComputePodStatus(in).phase(), first.phase());
  }
}

/// It was not the node that was short of anything.
TEST(FinishedStatus, APodThatPassedItsOwnLimitIsEvictedAndNotDisrupted) {
  kube::Pod pod;
  pod.mutable_spec()->add_containers()->set_name("a");
  v1::DesiredRecord desired;
  desired.set_source("api");
  v1::WorkerRecord worker;
  worker.set_state(v1::FINISHED);
  worker.set_evicted(true);
  worker.mutable_terminal_status()->set_phase("Failed");
  worker.mutable_terminal_status()->set_reason("Evicted");
  const auto conditions = [&] {
    const auto status = ComputePodStatus(
        {.pod = pod, .desired = desired, .worker = &worker, .now = WallFromNanos(1)});
    EXPECT_EQ(status.reason(), "Evicted");
    std::set<std::string> types;
    for (const auto& condition : status.conditions()) types.insert(condition.type());
    return types;
  };
  EXPECT_TRUE(conditions().contains("DisruptionTarget"));
  worker.set_own_limit(true);
  EXPECT_FALSE(conditions().contains("DisruptionTarget"));
}

/// Pod default/web of an API server, with one container, and its records.
struct Reported {
  kube::Pod pod;
  v1::DesiredRecord desired;
  v1::AdmissionRecord admission;
  v1::WorkerRecord worker;
  v1::ObservedPod runtime;
  bool rejected = false;

  Reported() {
    pod.mutable_metadata()->set_name("web");
    pod.mutable_metadata()->set_uid("u1");
    pod.mutable_metadata()->set_generation(7);
    pod.mutable_spec()->set_restart_policy("Always");
    pod.mutable_spec()->add_containers()->set_name("a");
    desired.set_source("api");
    desired.set_state(v1::DesiredRecord::WANTED);
    worker.set_state(v1::SYNCING);
    worker.set_granted(true);
  }
  void Run() {
    auto& sandbox = *runtime.add_sandboxes();
    sandbox.set_id("s1");
    sandbox.set_state(v1::SandboxRecord::READY);
    auto& container = *runtime.add_containers();
    container.set_id("c1");
    container.set_sandbox_id("s1");
    container.set_name("a");
    container.set_state(v1::ContainerRecord::RUNNING);
  }
  kube::PodStatus Compute(const kube::PodStatus* previous = nullptr) const {
    return ComputePodStatus({.pod = pod,
                             .desired = desired,
                             .admission = &admission,
                             .worker = &worker,
                             .runtime = &runtime,
                             .previous = previous,
                             .rejected = rejected,
                             .now = WallFromNanos(1)});
  }
};

TEST(ObservedGeneration, IsInEachStatusWhicheverRuleMakesIt) {
  using Edit = std::function<void(Reported&)>;
  const struct {
    const char* name;
    Edit edit;
    const char* phase;
  } kCases[] = {
      {"refused before it had a status", [](Reported& t) { t.rejected = true; }, "Failed"},
      {"a static pod that waits for room",
       [](Reported& t) {
         t.desired.set_source("file");
         t.admission.set_decision(v1::AdmissionRecord::WAITING);
         t.worker.set_granted(false);
       },
       "Pending"},
      {"a manifest that says that its pod is being deleted",
       [](Reported& t) {
         t.desired.set_source("file");
         t.pod.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
         t.worker.set_granted(false);
       },
       "Pending"},
      {"new", [](Reported&) {}, "Pending"},
      {"running", [](Reported& t) { t.Run(); }, "Running"},
      {"ended",
       [](Reported& t) {
         t.worker.set_state(v1::TERMINATED);
         t.worker.mutable_terminal_status()->set_phase("Failed");
       },
       "Failed"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Reported pod;
    c.edit(pod);
    EXPECT_EQ(pod.Compute().phase(), c.phase);
    EXPECT_EQ(pod.Compute().observed_generation(), 7);
  }
}

TEST(RefusedGrant, IsTheReasonOfThePodUntilOneIsTaken) {
  const std::string why = "spec.containers[0].name: Invalid value";
  Reported pod;
  pod.worker.set_granted(false);
  pod.worker.set_refusal(why);
  auto& reason = *pod.worker.add_containers();
  reason.set_name("a");
  reason.set_reason("CreateContainerConfigError");
  reason.set_message(why);
  const kube::PodStatus waits = pod.Compute();
  EXPECT_EQ(waits.phase(), "Pending");
  EXPECT_EQ(waits.reason(), "FailedValidation");
  EXPECT_EQ(waits.message(), why);
  EXPECT_EQ(waits.container_statuses(0).state().waiting().reason(), "CreateContainerConfigError");
  pod.Run();
  const kube::PodStatus runs = pod.Compute(&waits);
  EXPECT_EQ(runs.phase(), "Running") << "of another agent";
  EXPECT_EQ(runs.reason(), "FailedValidation");
  pod.worker.clear_refusal();
  EXPECT_EQ(pod.Compute(&runs).reason(), "");
  EXPECT_EQ(pod.Compute(&runs).message(), "");
}

}  // namespace
}  // namespace splitlet::status
