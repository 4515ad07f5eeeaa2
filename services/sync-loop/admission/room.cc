#include "services/sync-loop/admission/room.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

PodRequests RequestsOfCounted(const RoomInput& input, const std::string& key) {
  const auto* entry = input.store.Find(key);
  const WorkerDigest* worker = input.known.Worker(key);
  const bool other_incarnation = worker != nullptr && worker->granted && entry != nullptr &&
                                 worker->incarnation != entry->incarnation();
  if (entry != nullptr && entry->admitted() && !other_incarnation) return entry->requests;
  const PodDigest* pod = input.known.Pod(key);
  kube::Pod spec;
  if (pod == nullptr || pod->record == nullptr || !spec.ParseFromString(pod->record->pod()))
    return {};  // it counts as a pod; of what it requested nobody knows
  return RequestsOf(spec).value_or(PodRequests());
}

}  // namespace

Standing StandingOf(const RoomInput& input, const std::string& key) {
  const auto* entry = input.store.Find(key);
  return ComputeStanding(
      {.pod = input.known.Pod(key),
       .worker = input.known.Worker(key),
       .admitted_incarnation = entry != nullptr && entry->admitted() ? entry->incarnation() : 0,
       .called = input.grants.MayBeGranted(key),
       .running = input.known.IsRunning(key)});
}

void HeldRoom::BeginTurn() {
  room_.awaited.clear();
  changed_.insert(called_.begin(), called_.end());
  for (const auto& key : std::exchange(changed_, {})) Update(key);
}

void HeldRoom::Update(const std::string& key) {
  if (input_.grants.MayBeGranted(key)) {
    called_.insert(key);
  } else {
    called_.erase(key);
  }
  const bool known = input_.store.Find(key) != nullptr || input_.known.Worker(key) != nullptr;
  const Standing standing = known ? StandingOf(input_, key) : Standing{};
  room_.held.Erase(key);
  room_.later.Erase(key);
  if (!standing.counts) return;
  PodRequests requests = RequestsOfCounted(input_, key);
  if (!standing.ends && !input_.victims.Contains(key)) room_.later.Set(key, requests);
  room_.held.Set(key, std::move(requests));
}

void HeldRoom::Admit(const std::string& key, const PodRequests& requests) {
  room_.held.Set(key, requests);
  room_.later.Set(key, requests);
}

bool HeldRoom::Check() {
  BeginTurn();
  HeldRoom anew(input_);
  for (const auto& [key, entry] : input_.store.entries()) anew.OnChanged(key);
  for (const auto& [key, worker] : input_.known.workers()) anew.OnChanged(key);
  anew.BeginTurn();
  const bool same = anew.room_.held == room_.held && anew.room_.later == room_.later;
  if (!same) {
    room_ = std::move(anew.room_);
    called_ = std::move(anew.called_);
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
