#include "chaos/rules/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/rules/snapshot_queries.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::chaos {

void RunsRule::AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const {
  for (const auto& [name, wanted] : context().pods.all()) {
    const Ends ends = wanted.pod.from->ends;
    if (ends == Ends::kRuns || ends == Ends::kRestarts) CheckPod(wanted, snapshot, found);
  }
}

void RunsRule::CheckPod(const WantedPod& pod, const Snapshot& snapshot,
                        std::vector<Violation>& found) const {
  const std::string& name = pod.pod.name;
  const auto ready = std::ranges::count_if(snapshot.sandboxes, [&pod](const SeenSandbox& s) {
    return s.pod == pod.full_name && s.ready;
  });
  if (ready != 1)
    found.push_back(MakeViolation("runs", name, fmt::format("has {} ready sandboxes", ready)));
  if (pod.pod.from->ends == Ends::kRestarts) return;
  const auto running = ContainersOf(snapshot, pod.full_name, SeenContainer::State::kRunning);
  const auto check = [&](const kube::Container& spec) {
    const auto count = std::ranges::count_if(
        running, [&spec](const SeenContainer* c) { return c->name == spec.name(); });
    if (count != 1)
      found.push_back(MakeViolation(
          "runs", name, fmt::format("has {} running containers {}", count, spec.name())));
  };
  for (const auto& init : pod.pod.from->pod->spec().init_containers())
    if (init.restart_policy() == "Always") check(init);  // a sidecar
  for (const auto& app : pod.pod.from->pod->spec().containers()) check(app);
}

}  // namespace splitlet::chaos
