#include "chaos/rules/unharmed.h"

#include <fmt/format.h>

#include <utility>

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {

void UnharmedRule::OnSettled(const Snapshot& snapshot) {
  for (const auto& [name, wanted] : context().pods.all()) {
    if (!wanted.pod.from->unharmed) continue;
    Settled settled{.version = wanted.pod.version, .containers = {}};
    for (const auto* c : ContainersOf(snapshot, wanted.full_name, SeenContainer::State::kRunning))
      settled.containers[c->name] = c->id;
    settled_[name] = std::move(settled);
  }
}

void UnharmedRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.runtime_answered) return;
  for (const auto& [name, wanted] : context().pods.all())
    if (const auto settled = settled_.find(name);
        settled != settled_.end() && settled->second.version == wanted.pod.version)
      CheckPod(wanted, settled->second, snapshot);
}

void UnharmedRule::CheckPod(const WantedPod& pod, const Settled& settled,
                            const Snapshot& snapshot) const {
  const std::string& name = pod.pod.name;
  for (const auto& [container, id] : settled.containers)
    if (!IsRunning(snapshot, id))
      context().findings.Add(
          "unharmed", name,
          fmt::format("container {} ({}) ended without a request", container, id.substr(0, 12)));
  if (settled.containers.empty()) return;
  const ReportedPod* reported = ReportedOf(snapshot, pod.full_name);
  if (reported != nullptr && !reported->ready)
    context().findings.Add("unharmed", name + " status", "is reported not ready while it runs");
  const ReportedPod* served = FindPod(snapshot.served, pod.full_name);
  if (served != nullptr && !served->ready)
    context().findings.Add("unharmed", name + " server",
                           "is not ready at the API server while it runs");
}

}  // namespace splitlet::chaos
