#include "services/status/api/pods/status_patch.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::status {
namespace {

namespace core = k8s::io::api::core::v1;

core::PodCondition& AddCondition(kube::PodStatus& status, const std::string& type,
                                 const std::string& value, int64_t since = 0) {
  auto& condition = *status.add_conditions();
  condition.set_type(type);
  condition.set_status(value);
  if (since > 0) condition.mutable_last_transition_time()->set_seconds(since);
  return condition;
}

std::vector<std::string> Types(const kube::PodStatus& status) {
  std::vector<std::string> types;
  for (const auto& condition : status.conditions())
    types.push_back(condition.type() + "=" + condition.status());
  return types;
}

using Strings = std::vector<std::string>;

TEST(MergeStatus, ConditionsOfOthersStayAndOursReplaceOurs) {
  kube::PodStatus there, ours;
  AddCondition(there, "example.com/gate", "True");
  AddCondition(there, "Ready", "False");
  AddCondition(there, "PodResizePending", "True");
  AddCondition(there, "DisruptionTarget", "True");
  AddCondition(ours, "example.com/gate", "False");  // as it was once seen
  AddCondition(ours, "Ready", "True");
  EXPECT_EQ(Types(MergeStatus(there, ours, {})),
            (Strings{"example.com/gate=True", "DisruptionTarget=True", "Ready=True"}));
}

TEST(MergeStatus, ADisruptionIsToldWithTheEndOnly) {
  kube::PodStatus there, ours;
  there.set_phase("Running");
  AddCondition(there, "DisruptionTarget", "True").set_reason("EvictionByEvictionAPI");
  AddCondition(ours, "DisruptionTarget", "True").set_reason("TerminationByKubelet");
  for (const auto& [phase, reason] : {std::pair{"Running", "EvictionByEvictionAPI"},
                                      std::pair{"Failed", "TerminationByKubelet"}}) {
    ours.set_phase(phase);
    const auto merged = MergeStatus(there, ours, {});
    ASSERT_EQ(merged.conditions_size(), 1);
    EXPECT_EQ(merged.conditions(0).reason(), reason);
  }
}

TEST(MergeStatus, ATerminalPhaseAtTheServerIsAFloor) {
  kube::PodStatus there, ours;
  there.set_phase("Failed");
  there.set_reason("Evicted");
  ours.set_phase("Running");
  AddCondition(ours, "Ready", "True");
  const auto merged = MergeStatus(there, ours, {});
  EXPECT_EQ(merged.phase(), "Failed");
  EXPECT_EQ(merged.reason(), "Evicted");
  EXPECT_EQ(Types(merged), Strings{"Ready=False"});
  EXPECT_EQ(merged.conditions(0).reason(), "PodFailed");
  EXPECT_EQ(MergeStatus(there, ours, {.mirror = true}).phase(), "Running");
}

TEST(MergeStatus, WhatOthersFillIsTheirs) {
  kube::PodStatus there, ours;
  there.set_qos_class("Guaranteed");
  there.set_observed_generation(5);
  there.add_resource_claim_statuses()->set_name("claim");
  there.mutable_start_time()->set_seconds(7);
  ours.set_qos_class("Burstable");
  ours.set_observed_generation(3);
  ours.mutable_start_time()->set_seconds(9);
  const auto merged = MergeStatus(there, ours, {});
  EXPECT_EQ(merged.qos_class(), "Guaranteed");
  EXPECT_EQ(merged.observed_generation(), 5);
  EXPECT_EQ(merged.resource_claim_statuses_size(), 1);
  EXPECT_EQ(merged.start_time().seconds(), 7);
}

TEST(MergeStatus, AfterAStartTimesOfWhatHasNotChangedStay) {
  kube::PodStatus there, ours;
  AddCondition(there, "Ready", "True", 100);
  AddCondition(there, "PodScheduled", "False", 100);
  AddCondition(ours, "Ready", "True", 200);
  AddCondition(ours, "PodScheduled", "True", 200);
  const auto merged = MergeStatus(there, ours, {.keep_times = true});
  EXPECT_EQ(merged.conditions(0).last_transition_time().seconds(), 100);
  EXPECT_EQ(merged.conditions(1).last_transition_time().seconds(), 200);
  EXPECT_EQ(MergeStatus(there, ours, {}).conditions(0).last_transition_time().seconds(), 200);
}

TEST(MakeStatusPatch, EqualContentIsNone) {
  kube::PodStatus a, b;
  a.set_phase("Running");
  a.set_reason("");  // as the server's protobuf has it
  a.mutable_start_time()->set_seconds(7);
  a.mutable_start_time()->set_nanos(0);
  auto* state = a.add_container_statuses();
  state->set_name("a");
  state->set_restart_count(0);
  state->mutable_last_state();
  (*a.mutable_allocated_resources())["cpu"].set_string("1000m");
  b.set_phase("Running");
  b.mutable_start_time()->set_seconds(7);
  b.add_container_statuses()->set_name("a");
  (*b.mutable_allocated_resources())["cpu"].set_string("1");
  EXPECT_EQ(MakeStatusPatch("u1", a, b), "");
}

TEST(MakeStatusPatch, HasWhatDiffersAndNullForWhatIsGone) {
  kube::PodStatus from, to;
  from.set_phase("Running");
  from.set_reason("Why");
  from.set_nominated_node_name("other");
  from.add_pod_ips()->set_ip("10.0.0.1");
  AddCondition(from, "Ready", "True").set_reason("x");
  AddCondition(from, "Initialized", "True");
  AddCondition(from, "PodResizePending", "True");
  to.set_phase("Failed");
  to.add_pod_ips()->set_ip("10.0.0.2");
  AddCondition(to, "Ready", "False");
  AddCondition(to, "Initialized", "True");
  AddCondition(to, "PodScheduled", "True");
  EXPECT_EQ(MakeStatusPatch("u1", from, to),
            R"({"metadata":{"uid":"u1"},"status":{"$setElementOrder/conditions":)"
            R"([{"type":"Ready"},{"type":"Initialized"},{"type":"PodScheduled"}],"conditions":[)"
            R"({"status":"False","reason":null,"type":"Ready"},)"
            R"({"type":"PodScheduled","status":"True"},)"
            R"({"$patch":"delete","type":"PodResizePending"}],)"
            R"("$setElementOrder/podIPs":[{"ip":"10.0.0.2"}],)"
            R"("podIPs":[{"ip":"10.0.0.2"},{"$patch":"delete","ip":"10.0.0.1"}],)"
            R"("phase":"Failed","reason":null,"nominatedNodeName":null}})");
}

TEST(MakeStatusPatch, ASecondAddressStaysTheSecond) {
  kube::PodStatus from, to;
  from.add_host_ips()->set_ip("192.0.2.1");
  to.add_host_ips()->set_ip("192.0.2.1");
  to.add_host_ips()->set_ip("2001:db8::1");
  EXPECT_EQ(MakeStatusPatch("u1", from, to),
            R"({"metadata":{"uid":"u1"},"status":{"$setElementOrder/hostIPs":)"
            R"([{"ip":"192.0.2.1"},{"ip":"2001:db8::1"}],"hostIPs":[{"ip":"2001:db8::1"}]}})");
}

TEST(MakeStatusPatch, ListsOfContainersAreReplacedWhole) {
  kube::PodStatus from, to;
  auto* old = from.add_container_statuses();
  old->set_name("a");
  old->mutable_state()->mutable_waiting()->set_reason("ContainerCreating");
  auto* now = to.add_container_statuses();
  now->set_name("a");
  now->set_started(false);
  now->mutable_state()->mutable_running()->mutable_started_at()->set_seconds(60);
  EXPECT_EQ(MakeStatusPatch("u1", from, to),
            R"({"metadata":{"uid":"u1"},"status":{"containerStatuses":[{"name":"a","state":)"
            R"({"running":{"startedAt":"1970-01-01T00:01:00Z"}},"started":false}]}})");
}

TEST(MakeStatusPatch, QuantitiesByName) {
  kube::PodStatus from, to;
  (*from.mutable_allocated_resources())["cpu"].set_string("1");
  (*from.mutable_allocated_resources())["memory"].set_string("1Gi");
  (*to.mutable_allocated_resources())["cpu"].set_string("2");
  (*to.mutable_resources()->mutable_limits())["cpu"].set_string("2");
  EXPECT_EQ(MakeStatusPatch("u1", from, to),
            R"({"metadata":{"uid":"u1"},"status":{"allocatedResources":{"cpu":"2","memory":null},)"
            R"("resources":{"limits":{"cpu":"2"}}}})");
  EXPECT_EQ(MakeStatusPatch("u1", to, {}),
            R"({"metadata":{"uid":"u1"},"status":{"allocatedResources":{"cpu":null},)"
            R"("resources":null}})")
      << "an empty object would stay";
}

}  // namespace
}  // namespace splitlet::status
