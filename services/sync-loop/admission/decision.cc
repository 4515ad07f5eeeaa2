#include "services/sync-loop/admission/decision.h"

#include <fmt/format.h>

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

using Cause = Wait::Cause;
using Ground = Refusal::Ground;
using Outcome = Decision::Outcome;

bool LacksResources(const Refusal& refusal) {
  return refusal.ground == Ground::kResources || refusal.ground == Ground::kHostPorts;
}

bool Fits(const AdmissionInput& question, const NodeLoad& load) {
  const auto refusal = FindRefusal(question, load);
  return !refusal || !LacksResources(*refusal);
}

/// The API server's labels and taints decide about its pods. With offlineStart config-source shows
/// such a pod only after the server was away for long.
std::optional<Wait> NodeWait(const PodDigest& pod, const NodeInput& node) {
  if (node.node == nullptr && (!pod.is_static || node.certainty.node_awaited))
    return Wait{.cause = Cause::kNodeUnknown};
  if (!pod.is_static && !node.node->registered && !node.settings.offline_start)
    return Wait{.cause = Cause::kNodeUnregistered};
  return std::nullopt;
}

/// A refusal stands only while what it rests on is known well enough.
std::optional<Wait> RefusalWait(const PodInput& input, const NodeInput& node,
                                const Refusal& refusal, Decision& decision) {
  switch (refusal.ground) {
    case Ground::kPod:
    case Ground::kPressure: return std::nullopt;
    case Ground::kResources:
    case Ground::kHostPorts:
      if (node.certainty.pods_live) return std::nullopt;
      return Wait{Cause::kTablesStale, refusal.reason};
    case Ground::kNodeLabels: break;
  }
  if (!input.pod.is_static && !node.node->registered)
    return Wait{Cause::kLabelsUnregistered, refusal.reason};
  const Clock::Time since = input.mismatch_since.value_or(node.now);
  decision.mismatch_since = since;
  if (node.now - since < kLabelsWait) {
    decision.retry_after = kLabelsWait - (node.now - since);
    return Wait{Cause::kLabelsUnsettled, refusal.reason};
  }
  if (node.certainty.node_live) return std::nullopt;
  return Wait{Cause::kNodeStale, refusal.reason};
}

bool IsRecorded(const PodInput& input, const Refusal& refusal) {
  const v1::AdmissionRecord* record = input.recorded;
  return record != nullptr && record->decision() == v1::AdmissionRecord::WAITING &&
         record->incarnation() == input.pod.incarnation && record->reason() == refusal.reason &&
         record->message() == refusal.message;
}

/// Turns the refusal into victims or into the kubelet's error; false: another preemption runs.
bool Preempt(const NodeInput& node, const AdmissionInput& question, const NodeLoad& load,
             Decision& decision) {
  // Victims count as freed for their preemptor only, so the next one waits until they terminated.
  if (node.preempting) return false;
  const Needs needs = FindNeeds(question, load);
  if (auto victims = ChooseVictims(needs, node.preemptable(question.pod))) {
    decision.outcome = Outcome::kAdmitted;
    decision.victims = std::move(*victims);
    if (!needs.empty()) decision.lacking = needs.front().first;
  } else {
    decision.refusal = {Ground::kResources, "UnexpectedAdmissionError", NoVictimsMessage(needs)};
  }
  return true;
}

/// For a pod that lacks resources: it preempts others, waits, or is rejected.
Decision DecideWithoutResources(const PodInput& input, const NodeInput& node,
                                const AdmissionInput& question, Decision decision) {
  const bool is_static = input.pod.is_static;
  const bool critical = kube::IsCritical(question.pod);
  const Allocation& allocation = node.allocation;
  const NodeLoad later = is_static  ? node.load_without_namesakes()
                         : critical ? WithReserved(allocation.held, allocation)
                                    : WithReserved(allocation.later, allocation);
  const bool fits_later = Fits(question, later);
  if (!fits_later && critical && decision.refusal.ground == Ground::kResources) {
    if (!Preempt(node, question, later, decision)) {
      decision.wait = Wait{.cause = Cause::kPreemption};
      decision.reserves = true;
      return decision;
    }
    if (decision.outcome == Outcome::kAdmitted) return decision;
  }
  if (!is_static && !fits_later) {
    decision.outcome = Outcome::kRejected;
    return decision;
  }
  // A pod that would not fit on an empty node keeps no other pod away.
  decision.reserves = Fits(question, NodeLoad());
  decision.wait = Wait{Cause::kResources, decision.refusal.reason};
  if (is_static && !IsRecorded(input, decision.refusal)) decision.outcome = Outcome::kWaiting;
  return decision;
}

}  // namespace

std::string TextOf(const Wait& wait) {
  switch (wait.cause) {
    case Cause::kAdmissionsUnread: return "saved admissions are not read yet";
    case Cause::kWorkersIncomplete: return "table `workers` is incomplete";
    case Cause::kAdmissionUnreadable: return "its saved admission cannot be read";
    case Cause::kWorkerUnreadable: return "its record in `workers` cannot be parsed";
    case Cause::kRequestsInvalid: return wait.detail;
    case Cause::kEarlierIncarnation: return "an earlier incarnation of the pod has not finished";
    case Cause::kSourceIncomplete: return fmt::format("source {} is incomplete", wait.detail);
    case Cause::kNodeUnknown: return "the node's record is not known yet";
    case Cause::kNodeUnregistered: return "the API server does not have this node yet";
    case Cause::kFeaturesUnknown: return "the features of the runtime are not known yet";
    case Cause::kTablesStale:
      return fmt::format("{}, but table `desired` or `workers` is stale", wait.detail);
    case Cause::kLabelsUnregistered:
      return fmt::format("{}, but the API server does not have this node yet", wait.detail);
    case Cause::kLabelsUnsettled:
      return fmt::format("{}, but the node's record may be stale", wait.detail);
    case Cause::kNodeStale: return fmt::format("{}, but the node's record is stale", wait.detail);
    case Cause::kPreemption: return "pods preempted for another pod have not terminated";
    case Cause::kResources: return fmt::format("{}, until resources are free", wait.detail);
  }
  UNREACHABLE();
}

Decision Undecided(Wait wait) {
  Decision decision;
  decision.wait = std::move(wait);
  return decision;
}

bool NeedsDecision(const PodInput& input) {
  const PodDigest& pod = input.pod;
  if (pod.state != PodDigest::State::kWanted) return false;
  const WorkerDigest* worker = input.worker;
  const bool known = worker != nullptr && worker->incarnation == pod.incarnation;
  const bool granted = known && worker->granted;
  if ((pod.ending || pod.terminal) && !granted) return false;
  // Killed without a grant: there is nothing left to decide.
  if (known && !granted && worker->state != WorkerDigest::State::kSyncing) return false;
  const v1::AdmissionRecord* recorded = input.recorded;
  if (recorded == nullptr || recorded->incarnation() < pod.incarnation) return true;
  if (recorded->incarnation() != pod.incarnation) return false;
  if (recorded->decision() == v1::AdmissionRecord::WAITING) return true;
  const bool rejected = recorded->decision() == v1::AdmissionRecord::REJECTED;
  return rejected && input.recorded_before && pod.is_static;
}

std::optional<Decision> DecideByRecords(const PodInput& input) {
  if (input.unreadable) return Undecided({.cause = Cause::kAdmissionUnreadable});
  const WorkerDigest* worker = input.worker;
  if (worker == nullptr) return std::nullopt;
  if (worker->state == WorkerDigest::State::kUnknown)
    return Undecided({.cause = Cause::kWorkerUnreadable});
  const bool earlier = worker->incarnation < input.pod.incarnation &&
                       worker->state != WorkerDigest::State::kFinished;
  const bool granted = worker->incarnation == input.pod.incarnation && worker->granted;
  if (!earlier && !granted) return std::nullopt;
  const auto requests = RequestsOf(input.pod.pod.Parse());
  Decision decision = Undecided({.cause = Cause::kEarlierIncarnation});
  if (requests.ok()) decision.requests = *requests;
  if (earlier) {
    decision.reserves = requests.ok();
    return decision;
  }
  // Granted in this boot, and its file is gone: the pod runs, so it is admitted.
  if (!requests.ok()) return Undecided({Cause::kRequestsInvalid, ToString(requests.status())});
  decision.outcome = Outcome::kAdmitted;
  decision.wait.reset();
  return decision;
}

bool NeedsWholeSource(const PodInput& input) {
  const bool has_worker =
      input.worker != nullptr && input.worker->incarnation == input.pod.incarnation;
  return !has_worker && !input.running;
}

Decision DecideByNode(const PodInput& input, const NodeInput& node) {
  if (auto wait = NodeWait(input.pod, node)) return Undecided(std::move(*wait));
  const kube::Pod pod = input.pod.pod.Parse();
  const auto requests = RequestsOf(pod);
  if (!requests.ok()) return Undecided({Cause::kRequestsInvalid, ToString(requests.status())});
  if (AsksForAbilities(pod) && !(node.node != nullptr && node.node->abilities.known))
    return Undecided({.cause = Cause::kFeaturesUnknown});
  // A static pod takes what other pods only wait for.
  const Allocation& allocation = node.allocation;
  std::optional<NodeLoad> with_reserved;
  if (!input.pod.is_static && !allocation.reserved.empty())
    with_reserved = WithReserved(allocation.held, allocation);
  const AdmissionInput question{.pod = pod,
                                .requests = *requests,
                                .node = node.node,
                                .pressure = node.pressure,
                                .shutting_down = node.shutting_down,
                                .sysctls = node.settings.sysctls,
                                .node_name = node.settings.node_name,
                                .max_pods = node.settings.max_pods,
                                .devices = &node.devices,
                                .pod_resources = node.settings.pod_resources};
  const auto refusal = FindRefusal(question, with_reserved ? *with_reserved : allocation.held);
  Decision decision;
  decision.requests = *requests;
  if (!refusal) {
    decision.outcome = Outcome::kAdmitted;
    return decision;
  }
  decision.refusal = *refusal;
  const bool lacks = LacksResources(*refusal);
  if (auto wait = RefusalWait(input, node, *refusal, decision)) {
    decision.wait = std::move(*wait);
    decision.reserves = lacks;
    return decision;
  }
  if (lacks) return DecideWithoutResources(input, node, question, std::move(decision));
  decision.outcome = Outcome::kRejected;
  return decision;
}

}  // namespace splitlet::sync_loop
