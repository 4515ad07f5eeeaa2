#include "chaos/rules/ends.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {

void EndsRule::AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const {
  for (const auto& [name, wanted] : context().pods.all()) {
    const Ends ends = wanted.pod.from->ends;
    if (ends != Ends::kSucceeds && ends != Ends::kFails) continue;
    if (!ContainersOf(snapshot, wanted.full_name, SeenContainer::State::kRunning).empty())
      found.push_back(MakeViolation("ends", name, "still runs"));
    const ReportedPod* reported = ReportedOf(snapshot, wanted.full_name);
    if (reported == nullptr) continue;  // the rule `status` reports this
    CheckStarted(wanted, *reported, snapshot, found);
    CheckPhase(wanted, *reported, found);
  }
}

void EndsRule::CheckStarted(const WantedPod& pod, const ReportedPod& reported,
                            const Snapshot& snapshot, std::vector<Violation>& found) const {
  const std::string& name = pod.pod.name;
  if (!pod.new_incarnation || pod.pod.witness.empty()) return;
  if (context().disturbances.HitContainers(name) || context().unrun.IsIn(reported)) return;
  const auto witness = snapshot.witnesses.find(pod.pod.witness);
  const bool started = witness != snapshot.witnesses.end() &&
                       std::ranges::any_of(witness->second.starts, [&pod](WallTime at) {
                         return at > *pod.new_incarnation - kSlack;
                       });
  if (!started)
    found.push_back(MakeViolation("ends", name, "has ended but never ran in this incarnation"));
}

void EndsRule::CheckPhase(const WantedPod& pod, const ReportedPod& reported,
                          std::vector<Violation>& found) const {
  const std::string& name = pod.pod.name;
  const bool succeeds = pod.pod.from->ends == Ends::kSucceeds;
  const char* want = succeeds && !context().unrun.IsIn(reported) ? "Succeeded" : "Failed";
  if (reported.phase == want) return;
  if (succeeds && context().disturbances.HitContainers(name) && IsTerminal(reported.phase)) return;
  found.push_back(
      MakeViolation("ends", name, fmt::format("is reported {}, want {}", reported.phase, want)));
}

}  // namespace splitlet::chaos
