#include "chaos/rules/snapshot_queries.h"

#include <algorithm>

namespace splitlet::chaos {

std::vector<const SeenContainer*> ContainersOf(const Snapshot& snapshot,
                                               const std::string& full_name,
                                               SeenContainer::State state) {
  std::vector<const SeenContainer*> found;
  for (const auto& c : snapshot.containers)
    if (c.pod == full_name && c.state == state) found.push_back(&c);
  return found;
}

bool IsRunning(const Snapshot& snapshot, const std::string& container_id) {
  return std::ranges::any_of(snapshot.containers, [&container_id](const SeenContainer& c) {
    return c.id == container_id && c.state == SeenContainer::State::kRunning;
  });
}

const ReportedPod* FindPod(const std::vector<ReportedPod>& pods, const std::string& full_name) {
  const ReportedPod* best = nullptr;
  for (const auto& pod : pods)
    if (pod.name == full_name && (best == nullptr || pod.phase == "Running")) best = &pod;
  return best;
}

const ReportedPod* ReportedOf(const Snapshot& snapshot, const std::string& full_name) {
  return FindPod(snapshot.reported, full_name);
}

bool IsGone(const Snapshot& snapshot, const std::string& full_name) {
  return snapshot.runtime_answered && snapshot.status_answered &&
         ReportedOf(snapshot, full_name) == nullptr &&
         std::ranges::none_of(snapshot.sandboxes,
                              [&](const SeenSandbox& s) { return s.pod == full_name && s.ready; });
}

bool IsTerminal(const std::string& phase) { return phase == "Succeeded" || phase == "Failed"; }

std::string BareId(const std::string& id) {
  const auto slashes = id.find("://");
  return slashes == std::string::npos ? id : id.substr(slashes + 3);
}

}  // namespace splitlet::chaos
