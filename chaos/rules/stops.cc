#include "chaos/rules/stops.h"

#include "chaos/rules/snapshot_queries.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::chaos {
namespace {

Duration GraceOf(const PodTemplate& pod) {
  return pod.pod->spec().has_termination_grace_period_seconds()
             ? Duration{1s} * pod.pod->spec().termination_grace_period_seconds()
             : Duration{30s};
}

}  // namespace

void Stops::OnPut(const WantedPod* before, const PodToRun& pod, const Snapshot& last) {
  if (before != nullptr && !pod.from->same_uid) OnRemoved(*before, last.wall, last);
  if (!pod.from->same_uid) return;
  for (auto& [id, stop] : stops_) stop.may_live = stop.may_live || stop.pod == pod.name;
}

void Stops::OnRemoved(const WantedPod& pod, WallTime at, const Snapshot& last) {
  const PodTemplate& from = *pod.pod.from;
  if (from.ends == Ends::kRestarts) return;  // the container ends by itself at any time
  for (const auto* c : ContainersOf(last, pod.full_name, SeenContainer::State::kRunning)) {
    if (const auto known = stops_.find(c->id); known != stops_.end() && !known->second.may_live)
      continue;
    stops_[c->id] = {.pod = pod.pod.name,
                     .container = c->id,
                     .name = c->name,
                     .witness = pod.pod.witness,
                     .removed = at,
                     .grace = GraceOf(from),
                     .ignores_term = from.ignores_term};
  }
}

void Stops::OnInspected(const Snapshot& snapshot) {
  for (const auto& [id, stop] : stops_) {
    if (IsRunning(snapshot, id)) continue;
    over_.push_back(id);
    const auto end = node_.EndOf(id);
    const WallTime ended = end.value_or(snapshot.wall);
    if (ended < stop.removed || disturbances_.EndedContainers(stop.pod, stop.removed, ended))
      continue;
    ended_.push_back({.stop = stop, .ended = ended, .exact = end.has_value()});
  }
}

void Stops::ForgetEnded() {
  for (const auto& id : over_) stops_.erase(id);
  over_.clear();
  ended_.clear();
}

}  // namespace splitlet::chaos
