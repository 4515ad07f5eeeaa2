#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/trace.h"
#include "services/sync-loop/admission/preemption.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

/// Label of the metric, from a closed set.
std::string SignalOf(const std::string& resource) {
  for (const char* known : {"cpu", "memory", "ephemeral-storage", "pods"}) {
    if (resource == known) return resource;
  }
  return "other";
}

}  // namespace

bool SyncLoopService::IsPreempted(const std::string& key) const {
  const auto pod = pods_.find(key);
  const auto victim = preempted_.find(key);
  return pod != pods_.end() && victim != preempted_.end() &&
         victim->second == pod->second.incarnation;
}

void SyncLoopService::TakeVictims(const AdmissionBook::Entry& entry) {
  for (const auto& victim : entry.fact.victims()) {
    if (HasStopped(victim.key(), victim.incarnation())) continue;
    preempted_[victim.key()] = victim.incarnation();
    calls_.Check(victim.key());
    if (entry.earlier) continue;
    const auto pod = pods_.find(victim.key());
    if (pod == pods_.end()) continue;
    deps_.events.Record({.warning = true,
                         .reason = std::string(kPreempting),
                         .message = std::string(kPreemptingMessage),
                         .name_space = pod->second.name_space,
                         .name = pod->second.name,
                         .uid = pod->second.uid});
  }
}

std::vector<ActivePod> SyncLoopService::Candidates(const kube::Pod& critical) const {
  std::vector<ActivePod> candidates;
  for (const auto& [key, entry] : book_.entries()) {
    const WorkerFacts* worker = WorkerOf(key);
    const bool active = entry.admitted() && worker != nullptr && worker->granted &&
                        worker->incarnation == entry.incarnation() &&
                        worker->state == WorkerFacts::State::kSyncing;
    kube::Pod pod;
    if (!active || !pod.ParseFromString(entry.fact.pod())) continue;
    const auto claim = ClaimOf(pod);
    const auto qos = kube::QosOf(pod);
    if (!claim.ok() || !qos.ok()) continue;
    ActivePod other{.key = key,
                    .incarnation = entry.incarnation(),
                    .qos = *qos,
                    .critical = kube::IsCritical(pod),
                    .requests = claim->requests};
    if (pod.spec().has_priority()) other.priority = pod.spec().priority();
    if (MayPreempt(critical, other)) candidates.push_back(std::move(other));
  }
  return candidates;
}

std::string SyncLoopService::MakeRoom(const AdmissionInput& input, Decision& decision) {
  // Recorded victims count as freed for their preemptor only, so the next one waits for their end.
  const bool under_way =
      std::any_of(preempted_.begin(), preempted_.end(), [this](const auto& victim) {
        return pods_.contains(victim.first) && !HasStopped(victim.first, victim.second);
      });
  if (under_way) return "the victims of another pod have not ended";
  const Needs needs = FindNeeds(input);
  auto victims = ChooseVictims(needs, Candidates(input.pod));
  if (!victims) {
    decision.refusal = {Refusal::Ground::kResources, "UnexpectedAdmissionError",
                        NoVictimsMessage(needs)};
    return "";
  }
  decision.refusal.reset();
  decision.victims = std::move(*victims);
  for (const ActivePod& victim : decision.victims) {
    metrics_.preemptions.Add({{"preemption_signal", SignalOf(needs.front().first)}}).Increment();
    deps_.log.Info("preempting a pod",
                   {KV("podUID", victim.key), KV("for", kube::PodKey(input.pod)),
                    KV("resource", needs.front().first),
                    KV(kTraceIdField, TraceIdOf(book_.Find(victim.key)->traceparent))});
  }
  return "";
}

}  // namespace splitlet::sync_loop
