#include "services/sync-loop/admission/preemption_victims.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {

std::vector<std::string> PreemptionVictims::Add(const AdmissionStore::Entry& entry) {
  std::vector<std::string> added;
  for (const auto& victim : entry.admission.victims()) {
    if (known_.HasStopped(victim.key(), victim.incarnation())) continue;
    victims_[victim.key()] = victim.incarnation();
    added.push_back(victim.key());
    if (entry.earlier) continue;
    const PodDigest* pod = known_.Pod(victim.key());
    if (pod == nullptr) continue;
    events_.Record({.warning = true,
                    .reason = std::string(kPreempting),
                    .message = std::string(kPreemptingMessage),
                    .name_space = pod->name_space,
                    .name = pod->name,
                    .uid = pod->uid});
  }
  return added;
}

bool PreemptionVictims::Contains(const std::string& key) const {
  const PodDigest* pod = known_.Pod(key);
  const auto victim = victims_.find(key);
  return pod != nullptr && victim != victims_.end() && victim->second == pod->incarnation;
}

bool PreemptionVictims::AreEnding() const {
  return std::any_of(victims_.begin(), victims_.end(), [this](const auto& victim) {
    return known_.Pod(victim.first) != nullptr && !known_.HasStopped(victim.first, victim.second);
  });
}

std::vector<ActivePod> PreemptionVictims::Candidates(const kube::Pod& critical) const {
  std::vector<ActivePod> candidates;
  for (const auto& [key, entry] : store_.entries()) {
    const WorkerDigest* worker = known_.Worker(key);
    const bool active = entry.admitted() && worker != nullptr && worker->granted &&
                        worker->incarnation == entry.incarnation() &&
                        worker->state == WorkerDigest::State::kSyncing;
    if (!active) continue;
    const kube::Pod pod = entry.pod.Parse();
    const auto requests = RequestsOf(pod);
    const auto qos = kube::QosOf(pod);
    if (!requests.ok() || !qos.ok()) continue;
    ActivePod other{.key = key,
                    .incarnation = entry.incarnation(),
                    .qos = *qos,
                    .critical = kube::IsCritical(pod),
                    .requests = requests->amounts};
    if (pod.spec().has_priority()) other.priority = pod.spec().priority();
    if (MayPreempt(critical, other)) candidates.push_back(std::move(other));
  }
  return candidates;
}

}  // namespace splitlet::sync_loop
