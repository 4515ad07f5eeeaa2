#include "services/sync-loop/admission/allocated_resources.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

PodRequests RequestsOfCounted(const AllocationInput& input, const std::string& key) {
  const auto* entry = input.store.Find(key);
  const WorkerDigest* worker = input.known.Worker(key);
  const bool other_incarnation = worker != nullptr && worker->granted && entry != nullptr &&
                                 worker->incarnation != entry->incarnation();
  if (entry != nullptr && entry->admitted() && !other_incarnation) return entry->requests;
  const PodDigest* pod = input.known.Pod(key);
  if (pod == nullptr) return {};  // it counts as a pod; its requests are not known
  return RequestsOf(pod->pod.Parse()).value_or(PodRequests());
}

}  // namespace

Standing StandingOf(const AllocationInput& input, const std::string& key) {
  const auto* entry = input.store.Find(key);
  return ComputeStanding(
      {.pod = input.known.Pod(key),
       .worker = input.known.Worker(key),
       .admitted_incarnation = entry != nullptr && entry->admitted() ? entry->incarnation() : 0,
       .called = input.may_be_granted(key),
       .running = input.known.IsRunning(key)});
}

void AllocatedResources::BeginTurn() {
  now_.reserved.clear();
  changed_.insert(called_.begin(), called_.end());
  for (const auto& key : std::exchange(changed_, {})) Update(key);
}

void AllocatedResources::Update(const std::string& key) {
  if (input_.may_be_granted(key)) {
    called_.insert(key);
  } else {
    called_.erase(key);
  }
  const bool known = input_.store.Find(key) != nullptr || input_.known.Worker(key) != nullptr;
  const Standing standing = known ? StandingOf(input_, key) : Standing{};
  now_.held.Erase(key);
  now_.later.Erase(key);
  if (!standing.counts) return;
  PodRequests requests = RequestsOfCounted(input_, key);
  if (!standing.ends && !input_.victims.Contains(key)) now_.later.Set(key, requests);
  now_.held.Set(key, std::move(requests));
}

void AllocatedResources::Admit(const std::string& key, const PodRequests& requests) {
  now_.held.Set(key, requests);
  now_.later.Set(key, requests);
}

bool AllocatedResources::Check() {
  BeginTurn();
  AllocatedResources fresh(input_);
  for (const auto& [key, entry] : input_.store.entries()) fresh.OnChanged(key);
  for (const auto& [key, worker] : input_.known.workers()) fresh.OnChanged(key);
  fresh.BeginTurn();
  const bool same = fresh.now_.held == now_.held && fresh.now_.later == now_.later;
  if (!same) {
    now_ = std::move(fresh.now_);
    called_ = std::move(fresh.called_);
  }
  return same;
}

NodeLoad WithoutNamesakes(NodeLoad load, const KnownPods& known, const std::string& key) {
  const PodDigest& pod = *known.Pod(key);
  for (const auto& [other, digest] : known.pods()) {
    if (other != key && digest.is_static && digest.name == pod.name &&
        digest.name_space == pod.name_space)
      load.Erase(other);
  }
  return load;
}

}  // namespace splitlet::sync_loop
