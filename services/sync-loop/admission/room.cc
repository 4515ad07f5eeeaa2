#include "services/sync-loop/admission/room.h"

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
       .called = input.grants.MayBeGranted(key)});
}

Room ComputeRoom(const RoomInput& input) {
  Room room;
  const auto add = [&input, &room](const std::string& key) {
    const Standing standing = StandingOf(input, key);
    if (!standing.counts) return;
    const PodRequests requests = RequestsOfCounted(input, key);
    room.held.Set(key, requests);
    if (!standing.ends && !input.victims.Contains(key)) room.later.Set(key, requests);
  };
  for (const auto& [key, entry] : input.store.entries()) add(key);
  for (const auto& [key, worker] : input.known.workers())
    if (input.store.Find(key) == nullptr) add(key);
  return room;
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
