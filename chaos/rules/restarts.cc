#include "chaos/rules/restarts.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {
namespace {

struct Newest {
  int64_t attempt = -1;
  int restarts = -1;
};

Newest NewestAttempt(const Snapshot& snapshot, const std::string& uid, const std::string& name) {
  Newest newest;
  for (const auto& seen : snapshot.containers)
    if (seen.uid == uid && seen.name == name && seen.attempt > newest.attempt)
      newest = {.attempt = seen.attempt, .restarts = seen.restarts};
  return newest;
}

}  // namespace

void RestartsRule::AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const {
  for (const auto& [name, wanted] : context().pods.all()) {
    const Ends ends = wanted.pod.from->ends;
    const ReportedPod* reported = ReportedOf(snapshot, wanted.full_name);
    if (ends != Ends::kRuns && ends != Ends::kRestarts) continue;
    if (reported != nullptr && reported->phase == "Running")
      CheckPod(wanted, *reported, snapshot, found);
  }
}

void RestartsRule::CheckPod(const WantedPod& pod, const ReportedPod& reported,
                            const Snapshot& snapshot, std::vector<Violation>& found) const {
  const auto add = [&](std::string text) {
    found.push_back(MakeViolation("restarts", pod.pod.name, std::move(text)));
  };
  const auto witness = snapshot.witnesses.find(pod.pod.witness);
  // A pod that restarts constantly may have restarted between the two lists.
  const int lag = pod.pod.from->ends == Ends::kRestarts ? 1 : 0;
  for (const auto& c : reported.containers) {
    const auto [attempt, restarts] = NewestAttempt(snapshot, reported.uid, c.name);
    if (restarts < c.restarts - lag || restarts > c.restarts + lag)
      add(fmt::format("container {} is reported with {} restarts, its newest attempt ({}) has {}",
                      c.name, c.restarts, attempt, restarts));
    if (witness == snapshot.witnesses.end() || pod.pod.from->same_uid) continue;
    const int starts = static_cast<int>(witness->second.starts.size()) +
                       context().unrun.Count(reported.uid, c.name);
    if (starts > c.restarts + 1 + lag || starts < c.restarts + 1 - lag)
      add(fmt::format("container {} started {} times and is reported with {} restarts", c.name,
                      starts, c.restarts));
  }
}

}  // namespace splitlet::chaos
