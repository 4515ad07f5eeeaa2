#include <fmt/format.h>
#include <gmock/gmock.h>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/status/status_fixture.h"

/// The API shows a pod before status starts, or another client ends it there.

namespace splitlet::status {
namespace {

using Strings = std::vector<std::string>;

class Seed : public StatusServiceTest {
 protected:
  void WantFromApi(const kube::PodStatus& shown, const std::string& cpu = "") {
    kube::Pod pod;
    pod.mutable_metadata()->set_name("web");
    pod.mutable_metadata()->set_uid("u1");
    pod.mutable_spec()->set_restart_policy("Always");
    auto& asked = *pod.mutable_spec()->add_containers();
    asked.set_name("a");
    pod.mutable_metadata()->set_generation(++generation);
    if (!cpu.empty()) (*asked.mutable_resources()->mutable_requests())["cpu"].set_string(cpu);
    *pod.mutable_status() = shown;
    v1::DesiredRecord record;
    record.set_uid("u1");
    record.set_name("web");
    record.set_namespace_("default");
    record.set_source("api");
    record.set_state(v1::DesiredRecord::WANTED);
    record.set_incarnation(1);
    record.set_generation(generation);
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(desired->rows.Put("u1", record).ok());
  }
  /// "Infeasible 2": reason and generation of the condition that a resize waits.
  std::string ShowResize() {
    const auto status = Shown("u1");
    for (const auto& condition : status.conditions())
      if (condition.type() == "PodResizePending" && condition.status() == "True")
        return fmt::format("{} {}", condition.reason(), condition.observed_generation());
    return "none";
  }
  std::string ShowCpu() {
    const auto status = Shown("u1");
    return fmt::format("{} {}",
                       status.container_statuses(0).allocated_resources().at("cpu").string(),
                       status.allocated_resources().at("cpu").string());
  }
  double PendingResizes() {
    return StatusMetrics(process->registry, "node-a")
        .pending_resizes.Add({{"reason", "infeasible"}})
        .Value();
  }
  double InfeasibleResizes() {
    return StatusMetrics(process->registry, "node-a")
        .infeasible_resizes.Add({{"reason_detail", "feature_gate_off"}})
        .Value();
  }
  int64_t generation = 0;  // of the pod at the API server

  static kube::PodStatus MakeShown(const std::string& phase) {
    kube::PodStatus shown;
    shown.set_phase(phase);
    shown.mutable_start_time()->set_seconds(1000);
    auto* ready = shown.add_conditions();
    ready->set_type("Ready");
    ready->set_status("True");
    ready->mutable_last_transition_time()->set_seconds(1001);
    auto* container = shown.add_container_statuses();
    container->set_name("a");
    container->set_container_id("containerd://c1");
    container->set_ready(true);
    container->set_started(true);
    container->mutable_state()->mutable_running()->mutable_started_at()->set_seconds(1001);
    return shown;
  }
};

TEST_F(Seed, ATerminalPhaseThatTheApiShowsIsTheFirstThatIsTold) {
  std::vector<std::string> phases;
  CollectPhases(phases);
  auto shown = MakeShown("Failed");
  shown.set_reason("Evicted");
  WantFromApi(shown);
  Start();
  all.Advance(20s);
  EXPECT_EQ(phases, Strings{"Failed"});
  EXPECT_EQ(Shown("u1").reason(), "Evicted");
}

/// Its sandbox is still there, without the address that the pod had.
TEST_F(Seed, APodThatHadEndedIsShownAsItWas) {
  auto shown = MakeShown("Succeeded");
  shown.mutable_conditions(0)->set_status("False");
  shown.mutable_conditions(0)->set_reason("PodCompleted");
  shown.set_host_ip("192.0.2.77");
  shown.add_host_ips()->set_ip("192.0.2.77");
  shown.set_pod_ip("10.0.0.9");
  shown.add_pod_ips()->set_ip("10.0.0.9");
  auto& container = *shown.mutable_container_statuses(0);
  container.set_ready(false);
  container.set_started(false);
  container.mutable_state()->Clear();
  auto& ended = *container.mutable_state()->mutable_terminated();
  ended.set_exit_code(0);
  ended.set_reason("Completed");
  WantFromApi(shown);
  v1::RuntimeRecord record;
  auto& pod = *record.mutable_pod();
  pod.set_uid("u1");
  pod.set_runtime_name("containerd");
  pod.add_sandboxes()->set_state(v1::SandboxRecord::NOT_READY);
  auto& left = *pod.add_containers();
  left.set_id("c1");
  left.set_name("a");
  left.set_state(v1::ContainerRecord::EXITED);
  ASSERT_TRUE(runtime->rows.Put("u1", record).ok());
  runtime->Complete(clock.Now());
  Start();
  all.Advance(20s);
  EXPECT_EQ(Shown("u1").DebugString(), shown.DebugString());
}

TEST_F(Seed, TheStartTimeAndTheTimesOfConditionsAreThoseOfBefore) {
  WantFromApi(MakeShown("Running"));
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  runtime->Complete(clock.Now());
  Start();
  all.Advance(2s);
  const auto status = Shown("u1");
  EXPECT_EQ(status.phase(), "Running");
  EXPECT_EQ(status.start_time().seconds(), 1000);
  for (const auto& condition : status.conditions()) {
    if (condition.type() != "Ready") continue;
    EXPECT_EQ(condition.last_transition_time().seconds(), 1001);
  }
}

/// Its mirror pod is what the API knows of it.
TEST_F(Seed, OfAStaticPodTheFlagsOfItsMirrorPodStandUntilAProbeAnswers) {
  for (const bool same : {true, false}) {
    SCOPED_TRACE(same);
    kube::Pod pod;
    pod.mutable_metadata()->set_name("web");
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_metadata()->set_uid("u1");
    auto& annotations = *pod.mutable_metadata()->mutable_annotations();
    annotations[std::string(kube::kConfigHash)] = "h1";
    annotations[std::string(kube::kConfigSource)] = "file";
    auto& container = *pod.mutable_spec()->add_containers();
    container.set_name("a");
    container.mutable_readiness_probe()->set_period_seconds(1);
    kube::Pod mirror = pod;
    mirror.mutable_metadata()->set_uid("m1");
    (*mirror.mutable_metadata()->mutable_annotations())[std::string(kube::kConfigMirror)] =
        same ? "h1" : "h0";
    *mirror.mutable_status() = MakeShown("Running");
    const auto put = [this](const kube::Pod& of, v1::DesiredRecord::State state) {
      v1::DesiredRecord record;
      record.set_uid(of.metadata().uid());
      record.set_name("web");
      record.set_namespace_("default");
      record.set_source(state == v1::DesiredRecord::MIRROR ? "api" : "file");
      record.set_state(state);
      record.set_incarnation(1);
      record.set_generation(1);
      record.set_pod(of.SerializeAsString());
      ASSERT_TRUE(desired->rows.Put(of.metadata().uid(), record).ok());
    };
    put(mirror, v1::DesiredRecord::MIRROR);
    put(pod, v1::DesiredRecord::WANTED);
    Work("u1", v1::SYNCING);
    Observe("u1", true);
    runtime->Complete(clock.Now());
    Start();
    all.Advance(2s);
    ASSERT_EQ(Shown("u1").container_statuses_size(), 1);
    EXPECT_EQ(Shown("u1").container_statuses(0).ready(), same);
    all.Advance(30s);
    EXPECT_EQ(Shown("u1").container_statuses(0).ready(), same);
    Crash();
  }
}

TEST_F(Seed, APodThatNobodyHasToldOfHasNoPast) {
  kube::PodStatus shown;
  shown.set_phase("Pending");
  shown.set_qos_class("BestEffort");
  WantFromApi(shown);
  Start();
  EXPECT_EQ(Shown("u1").phase(), "Pending");
  EXPECT_FALSE(Shown("u1").has_start_time());
}

TEST_F(Seed, APodThatSomebodyElseEndsInTheApiStaysEnded) {
  Start();
  WantFromApi(MakeShown("Running"));
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  ASSERT_EQ(Shown("u1").phase(), "Running");
  auto failed = MakeShown("Failed");
  failed.set_reason("NodeLost");
  WantFromApi(failed);
  Settle();
  EXPECT_EQ(Shown("u1").phase(), "Failed");
  EXPECT_EQ(Shown("u1").reason(), "NodeLost");
  WantFromApi(MakeShown("Running"));
  all.Advance(20s);
  EXPECT_EQ(Shown("u1").phase(), "Failed");
}

TEST_F(Seed, AResizeIsInfeasibleAndThePodIsShownWithWhatItHas) {
  Start();
  WantFromApi({}, "1");
  Work("u1", v1::SYNCING);
  Observe("u1", true);
  Settle();
  EXPECT_EQ(ShowResize(), "none");
  EXPECT_EQ(ShowCpu(), "1 1");
  WantFromApi(Shown("u1"), "2");
  Settle();
  EXPECT_EQ(ShowResize(), "Infeasible 2");
  WantFromApi(Shown("u1"), "2");
  Settle();
  EXPECT_EQ(ShowResize(), "Infeasible 3");
  const auto events = process->service->ListEvents("u1");
  ASSERT_EQ(events.size(), 2U) << "one for each generation";
  EXPECT_EQ(events[0].type() + " " + events[0].reason(), "Warning ResizeInfeasible");
  EXPECT_EQ(events[0].message(),
            "Pod resize Infeasible: {\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{"
            "\"cpu\":\"2\"}}}],\"generation\":2,\"error\":\"This node does not resize pods: the "
            "resources stay as they were admitted\"}");
  EXPECT_EQ(ShowCpu(), "1 1");
  EXPECT_EQ(Shown("u1").observed_generation(), 3);
  EXPECT_EQ(Shown("u1").phase(), "Running");
  EXPECT_EQ(InfeasibleResizes(), 2);
  EXPECT_EQ(PendingResizes(), 1);
  WantFromApi(Shown("u1"), "1000m");
  Settle();
  EXPECT_EQ(ShowResize(), "none") << "it was taken back";
  EXPECT_EQ(InfeasibleResizes(), 2);
  EXPECT_EQ(PendingResizes(), 0);
}

}  // namespace
}  // namespace splitlet::status
