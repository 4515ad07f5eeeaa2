// The room of the node as judging sees it, and pods that find too little of it.

#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

bool LacksRoom(const std::optional<Refusal>& refusal) {
  return refusal && refusal->ground == Refusal::Ground::kResources;
}

/// What is found when the pods of the node are these.
bool LacksRoomBeside(const AdmissionInput& input, const NodeLoad& load) {
  return LacksRoom(FindRefusal({.pod = input.pod,
                                .claim = input.claim,
                                .node = input.node,
                                .pressure = input.pressure,
                                .load = load,
                                .sysctls = input.sysctls,
                                .node_name = input.node_name,
                                .max_pods = input.max_pods}));
}

}  // namespace

Standing SyncLoopService::StandingOf(const std::string& key) const {
  const auto pod = pods_.find(key);
  const auto* entry = book_.Find(key);
  return ComputeStanding(
      {.pod = pod == pods_.end() ? nullptr : &pod->second,
       .worker = WorkerOf(key),
       .admitted_incarnation = entry != nullptr && entry->admitted() ? entry->incarnation() : 0,
       .called = calls_.MayBeGranted(key)});
}

Claim SyncLoopService::ClaimOfCounted(const std::string& key) const {
  const auto* entry = book_.Find(key);
  const WorkerFacts* worker = WorkerOf(key);
  const bool other_life = worker != nullptr && worker->granted && entry != nullptr &&
                          worker->incarnation != entry->incarnation();
  if (entry != nullptr && entry->admitted() && !other_life) return entry->claim;
  const auto pod = pods_.find(key);
  kube::Pod spec;
  if (pod == pods_.end() || pod->second.record == nullptr ||
      !spec.ParseFromString(pod->second.record->pod()))
    return {};  // it counts as a pod; of what it requested nobody knows
  return ClaimOf(spec).value_or(Claim());
}

Room SyncLoopService::ComputeRoom() const {
  Room room;
  const auto add = [this, &room](const std::string& key) {
    const Standing standing = StandingOf(key);
    if (!standing.counts) return;
    const Claim claim = ClaimOfCounted(key);
    room.held.Set(key, claim);
    if (!standing.ends && !IsPreempted(key)) room.later.Set(key, claim);
  };
  for (const auto& [key, entry] : book_.entries()) add(key);
  for (const auto& [key, worker] : workers_)
    if (book_.Find(key) == nullptr) add(key);
  return room;
}

NodeLoad SyncLoopService::WithoutNamesakes(const std::string& key, const PodFacts& facts) const {
  NodeLoad load = room_.held;
  for (const auto& [other, pod] : pods_) {
    if (other != key && pod.is_static && pod.name == facts.name &&
        pod.name_space == facts.name_space)
      load.Erase(other);
  }
  return load;
}

std::string SyncLoopService::JudgeWithoutRoom(const std::string& key, const PodFacts& facts,
                                              const AdmissionInput& input, Decision& decision) {
  const bool critical = kube::IsCritical(input.pod);
  const NodeLoad later = facts.is_static ? WithoutNamesakes(key, facts)
                         : critical      ? input.load
                                         : WithAwaited(room_.later, room_);
  bool comes = !LacksRoomBeside(input, later);
  if (!comes && critical && decision.refusal->reason.starts_with("OutOf")) {
    const AdmissionInput beside{.pod = input.pod,
                                .claim = input.claim,
                                .node = input.node,
                                .pressure = input.pressure,
                                .load = later,
                                .sysctls = input.sysctls,
                                .node_name = input.node_name,
                                .max_pods = input.max_pods};
    if (std::string why = MakeRoom(beside, decision); !why.empty()) {
      Await(key, input.claim);
      return why;
    }
  }
  if (!decision.refusal || (!facts.is_static && !comes)) {
    Decide(key, facts, decision);
    return "";
  }
  // What would not fit on an empty node keeps nobody away.
  if (!LacksRoomBeside(input, NodeLoad())) Await(key, input.claim);
  const std::string why = fmt::format("{}, until there is room", decision.refusal->reason);
  if (!facts.is_static) return why;
  const auto* entry = book_.Find(key);
  const bool same = entry != nullptr && entry->waiting() &&
                    entry->incarnation() == facts.incarnation &&
                    entry->fact.record().reason() == decision.refusal->reason &&
                    entry->fact.record().message() == decision.refusal->message;
  decision.waits = true;
  if (!same) Decide(key, facts, decision);
  return why;
}

}  // namespace splitlet::sync_loop
