// The decision about one pod: what it waits for, and when it preempts.

#include "services/sync-loop/admission/decision.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

using Cause = Wait::Cause;
using Outcome = Decision::Outcome;

/// A node with one CPU, of which another pod holds 800m, and a pod that asks for it.
struct DecisionWorld {
  explicit DecisionWorld(const std::string& spec, bool is_static = false) {
    kube::Pod wanted;
    const std::string source = is_static ? "file" : "api";
    const std::string yaml =
        "metadata: {name: web, namespace: default, uid: web, annotations: "
        "{kubernetes.io/config.source: " +
        source + "}}\nspec: {" + spec + "}";
    EXPECT_TRUE(kube::DecodeInto(yaml, "web", kube::Strictness::kStrict, wanted).ok());
    v1::DesiredRecord record;
    record.set_uid("web");
    record.set_name("web");
    record.set_namespace_("default");
    record.set_source(source);
    record.set_incarnation(1);
    record.set_generation(1);
    record.set_state(v1::DesiredRecord::WANTED);
    record.set_pod(wanted.SerializeAsString());
    pod = DigestOf(record);
    node.registered = true;
    node.allocatable = {{"cpu", 1000}, {"pods", 110}};
    allocation.held.Set("old", {.amounts = {{"cpu", 800}}, .ports = {}});
    allocation.later.Set("old", {.amounts = {{"cpu", 800}}, .ports = {}});
  }
  Decision Decide() const {
    const PodInput input{.pod = pod, .recorded = recorded};
    return DecideByNode(input, {.settings = settings,
                                .node = node_known ? &node : nullptr,
                                .certainty = {.node_live = true, .pods_live = pods_live},
                                .pressure = pressure,
                                .devices = devices,
                                .allocation = allocation,
                                .preempting = preempting,
                                .now = {},
                                .load_without_namesakes = [this] { return allocation.held; },
                                .preemptable = [this](const kube::Pod&) { return preemptable; }});
  }

  PodDigest pod;
  NodeDigest node;
  Allocation allocation;
  bool node_known = true, pods_live = true, preempting = false;
  const v1::AdmissionRecord* recorded = nullptr;
  std::vector<ActivePod> preemptable;
  const std::vector<std::string> pressure;
  const Amounts devices;
  const NodeSettings settings{.sysctls = {"6.1.0", {}}, .node_name = "n1"};
};

std::string PodThatAsks(const std::string& cpu, const std::string& more = "") {
  return more + "containers: [{name: c, resources: {requests: {cpu: " + cpu + "}}}]";
}

const char* const kCriticalPriority = "priority: 2000001000, ";

TEST(Decision, IsAdmittedWhenThePodFits) {
  const Decision decision = DecisionWorld(PodThatAsks("200m")).Decide();
  EXPECT_EQ(decision.outcome, Outcome::kAdmitted);
  EXPECT_FALSE(decision.wait.has_value());
  EXPECT_EQ(decision.requests.amounts.at("cpu"), 200);
}

TEST(Decision, AnApiPodIsRejectedWhenTerminatingPodsFreeTooLittle) {
  DecisionWorld world(PodThatAsks("300m"));
  const Decision rejected = world.Decide();
  EXPECT_EQ(rejected.outcome, Outcome::kRejected);
  EXPECT_EQ(rejected.refusal.reason, "OutOfcpu");
  world.allocation.later.Erase("old");
  const Decision waits = world.Decide();
  EXPECT_EQ(waits.outcome, Outcome::kUndecided);
  EXPECT_EQ(TextOf(*waits.wait), "OutOfcpu, until resources are free");
  EXPECT_TRUE(waits.reserves);
}

TEST(Decision, AStaticPodIsSavedAsWaitingOnce) {
  DecisionWorld world(PodThatAsks("300m"), /*is_static=*/true);
  world.allocation.held.Set("old", {.amounts = {{"cpu", 800}}, .ports = {}});
  const Decision first = world.Decide();
  EXPECT_EQ(first.outcome, Outcome::kWaiting);
  v1::AdmissionRecord record;
  record.set_decision(v1::AdmissionRecord::WAITING);
  record.set_incarnation(1);
  record.set_reason(first.refusal.reason);
  record.set_message(first.refusal.message);
  world.recorded = &record;
  const Decision second = world.Decide();
  EXPECT_EQ(second.outcome, Outcome::kUndecided);
  EXPECT_EQ(second.wait->cause, first.wait->cause);
}

TEST(Decision, ACriticalPodPreemptsForResourcesAndNotForHostPorts) {
  DecisionWorld world(PodThatAsks("300m", kCriticalPriority));
  world.preemptable = {{.key = "old", .incarnation = 7, .requests = {{"cpu", 800}}}};
  const Decision decision = world.Decide();
  EXPECT_EQ(decision.outcome, Outcome::kAdmitted);
  ASSERT_EQ(decision.victims.size(), 1u);
  EXPECT_EQ(decision.victims[0].key, "old");
  EXPECT_EQ(decision.lacking, "cpu");
  DecisionWorld port(std::string(kCriticalPriority) +
                     "containers: [{name: c, ports: [{containerPort: 80, hostPort: 80}]}]");
  port.allocation.held.Set(
      "old", {.amounts = {}, .ports = {{.port = 80, .protocol = "TCP", .ip = "0.0.0.0"}}});
  port.preemptable = world.preemptable;
  const Decision refused = port.Decide();
  EXPECT_EQ(refused.outcome, Outcome::kRejected);
  EXPECT_EQ(refused.refusal.reason, "NodePorts");
}

TEST(Decision, ASecondPreemptionWaitsForTheVictimsOfTheFirst) {
  DecisionWorld world(PodThatAsks("300m", kCriticalPriority));
  world.preempting = true;
  const Decision decision = world.Decide();
  EXPECT_EQ(decision.outcome, Outcome::kUndecided);
  EXPECT_EQ(decision.wait->cause, Cause::kPreemption);
  EXPECT_TRUE(decision.reserves);
}

TEST(Decision, WithoutVictimsACriticalPodIsRejectedWithTheKubeletsError) {
  const Decision decision = DecisionWorld(PodThatAsks("300m", kCriticalPriority)).Decide();
  EXPECT_EQ(decision.outcome, Outcome::kRejected);
  EXPECT_EQ(decision.refusal.reason, "UnexpectedAdmissionError");
}

TEST(Decision, ARefusalWaitsWhileItsInputIsUncertain) {
  DecisionWorld stale(PodThatAsks("300m"));
  stale.pods_live = false;
  EXPECT_EQ(stale.Decide().wait->cause, Cause::kTablesStale);
  DecisionWorld unknown(PodThatAsks("200m"));
  unknown.node_known = false;
  EXPECT_EQ(unknown.Decide().wait->cause, Cause::kNodeUnknown);
  DecisionWorld labels(PodThatAsks("200m", "nodeSelector: {zone: b}, "));
  const Decision unsettled = labels.Decide();
  EXPECT_EQ(unsettled.wait->cause, Cause::kLabelsUnsettled);
  EXPECT_EQ(unsettled.retry_after, kLabelsWait);
  EXPECT_TRUE(unsettled.mismatch_since.has_value());
}

TEST(Decision, RecordsComeFirst) {
  const DecisionWorld world(PodThatAsks("200m"));
  WorkerDigest worker{.state = WorkerDigest::State::kUnknown, .uid = "web"};
  PodInput input{.pod = world.pod, .worker = &worker};
  EXPECT_EQ(DecideByRecords(input)->wait->cause, Cause::kWorkerUnreadable);
  worker.state = WorkerDigest::State::kTerminating;
  worker.incarnation = 0;
  const auto earlier = DecideByRecords(input);
  EXPECT_EQ(earlier->wait->cause, Cause::kEarlierIncarnation);
  EXPECT_TRUE(earlier->reserves);
  worker = {
      .state = WorkerDigest::State::kSyncing, .uid = "web", .incarnation = 1, .granted = true};
  EXPECT_EQ(DecideByRecords(input)->outcome, Outcome::kAdmitted);
  EXPECT_FALSE(NeedsWholeSource(input));
  worker.granted = false;
  EXPECT_FALSE(DecideByRecords(input).has_value());
  input.worker = nullptr;
  EXPECT_TRUE(NeedsWholeSource(input));
  input.unreadable = true;
  EXPECT_EQ(DecideByRecords(input)->wait->cause, Cause::kAdmissionUnreadable);
}

TEST(Decision, IsNeededUntilOneStandsForTheWantedIncarnation) {
  using State = PodDigest::State;
  enum class Past { kNone, kAdmitted, kRejected, kRejectedBefore, kWaiting };
  const WorkerDigest granted{
      .state = WorkerDigest::State::kSyncing, .incarnation = 5, .granted = true},
      ungranted{.state = WorkerDigest::State::kSyncing, .incarnation = 5},
      killed{.state = WorkerDigest::State::kTerminating, .incarnation = 5},
      earlier{.state = WorkerDigest::State::kTerminating, .incarnation = 4, .granted = true};
  const PodDigest wanted{.state = State::kWanted, .incarnation = 5};
  const auto of_state = [&wanted](State state) {
    PodDigest pod = wanted;
    pod.state = state;
    return pod;
  };
  PodDigest of_file = wanted, ending = wanted, terminal = wanted;
  of_file.is_static = true;
  ending.ending = true;
  terminal.terminal = true;
  const struct {
    const char* name;
    PodDigest pod;
    const WorkerDigest* worker;
    Past past;
    int64_t of_incarnation;
    bool want;
  } kCases[] = {
      {"a new pod", wanted, nullptr, Past::kNone, 0, true},
      {"a pod whose record cannot be parsed", of_state(State::kUnknown), nullptr, Past::kNone, 0,
       false},
      {"an unconfirmed pod", of_state(State::kUnconfirmed), nullptr, Past::kNone, 0, false},
      {"a removed pod", of_state(State::kRemoved), nullptr, Past::kNone, 0, false},
      {"a mirror pod", of_state(State::kMirror), nullptr, Past::kNone, 0, false},
      {"a deleted pod that never ran", ending, nullptr, Past::kNone, 0, false},
      {"a deleted pod that runs, without a file", ending, &granted, Past::kNone, 0, true},
      {"a pod that ended and never ran here", terminal, &ungranted, Past::kNone, 0, false},
      {"a pod that ended, and its worker has a grant", terminal, &granted, Past::kNone, 0, true},
      {"a pod that was killed before its grant", wanted, &killed, Past::kNone, 0, false},
      {"an ungranted worker that syncs", wanted, &ungranted, Past::kNone, 0, true},
      {"an earlier incarnation that ends", wanted, &earlier, Past::kNone, 0, true},
      {"an admitted pod", wanted, nullptr, Past::kAdmitted, 5, false},
      {"an earlier incarnation was admitted", wanted, nullptr, Past::kAdmitted, 4, true},
      {"a later incarnation was admitted", wanted, nullptr, Past::kAdmitted, 6, false},
      {"a waiting pod", wanted, nullptr, Past::kWaiting, 5, true},
      {"a rejected API pod", wanted, nullptr, Past::kRejected, 5, false},
      {"an API pod that an earlier start rejected", wanted, nullptr, Past::kRejectedBefore, 5,
       false},
      {"a rejected static pod", of_file, nullptr, Past::kRejected, 5, false},
      {"a static pod that an earlier start rejected", of_file, nullptr, Past::kRejectedBefore, 5,
       true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    v1::AdmissionRecord record;
    record.set_incarnation(c.of_incarnation);
    record.set_decision(c.past == Past::kAdmitted  ? v1::AdmissionRecord::ADMITTED
                        : c.past == Past::kWaiting ? v1::AdmissionRecord::WAITING
                                                   : v1::AdmissionRecord::REJECTED);
    const PodInput input{.pod = c.pod,
                         .worker = c.worker,
                         .recorded = c.past == Past::kNone ? nullptr : &record,
                         .recorded_before = c.past == Past::kRejectedBefore};
    EXPECT_EQ(NeedsDecision(input), c.want);
  }
}

}  // namespace
}  // namespace splitlet::sync_loop
