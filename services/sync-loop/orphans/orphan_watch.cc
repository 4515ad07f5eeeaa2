#include "services/sync-loop/orphans/orphan_watch.h"

#include <algorithm>
#include <utility>

namespace splitlet::sync_loop {

std::vector<std::string> OwnSandboxes(const RuntimeDigest& pod, const OrphanOptions& options) {
  std::vector<std::string> ids;
  for (const auto& sandbox : pod.sandboxes) {
    if (options.kill_unmanaged || sandbox.node_annotation == options.node_annotation)
      ids.push_back(sandbox.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<Suspect> ComputeSuspect(const std::string& key, const OrphanInput& input,
                                      const OrphanOptions& options) {
  if (input.desired) return std::nullopt;
  if (input.worker != nullptr) {
    if (input.worker->state != WorkerDigest::State::kSyncing) return std::nullopt;
    return Suspect{.key = key, .incarnation = input.worker->incarnation, .sandboxes = {}};
  }
  const RuntimeDigest* pod = input.runtime;
  if (pod == nullptr || input.unreadable) return std::nullopt;
  if (!pod->running || !pod->inspected || !input.vouched) return std::nullopt;
  auto sandboxes = OwnSandboxes(*pod, options);
  if (sandboxes.empty()) return std::nullopt;
  return Suspect{.key = key, .sandboxes = std::move(sandboxes)};
}

bool IsUnmanaged(const OrphanInput& input, const OrphanOptions& options) {
  if (input.desired || input.worker != nullptr || input.runtime == nullptr) return false;
  return !input.runtime->sandboxes.empty() && OwnSandboxes(*input.runtime, options).empty();
}

std::vector<Suspect> OrphanWatch::Pass(const std::vector<Suspect>& suspects, Clock::Time now) {
  std::map<std::string, Seen> seen;
  std::vector<Suspect> certain;
  for (const Suspect& suspect : suspects) {
    const auto before = seen_.find(suspect.key);
    const bool same = before != seen_.end() && before->second.suspect == suspect;
    const Clock::Time first = same ? before->second.first : now;
    seen[suspect.key] = {suspect, first};
    if (same && now - first >= kBetweenPasses) certain.push_back(suspect);
  }
  seen_ = std::move(seen);
  return certain;
}

}  // namespace splitlet::sync_loop
