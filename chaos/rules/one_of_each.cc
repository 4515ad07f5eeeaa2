#include "chaos/rules/one_of_each.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace splitlet::chaos {

void OneContainerRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.runtime_answered) return;
  std::map<std::pair<std::string, std::string>, int> running;  // by UID and name
  for (const auto& c : snapshot.containers) {
    if (!context().pods.IsOurs(c.pod) || c.state != SeenContainer::State::kRunning) continue;
    ++running[{c.uid, c.name}];
  }
  for (const auto& c : snapshot.containers)
    if (const auto n = running.find({c.uid, c.name}); n != running.end() && n->second > 1)
      context().findings.Add("one-container", context().pods.ShortName(c.pod) + "/" + c.name,
                             fmt::format("{} containers run at the same time", n->second));
}

void OneSandboxRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.runtime_answered) return;
  std::map<std::string, int> ready;  // by UID
  for (const auto& s : snapshot.sandboxes)
    if (context().pods.IsOurs(s.pod) && s.ready && ++ready[s.uid] > 1)
      context().findings.Add("one-sandbox", context().pods.ShortName(s.pod),
                             fmt::format("{} ready sandboxes at the same time", ready[s.uid]));
}

void OnePodRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.runtime_answered) return;
  std::map<std::string, std::set<std::string>> uids;  // by full name
  for (const auto& c : snapshot.containers)
    if (context().pods.IsOurs(c.pod) && c.state == SeenContainer::State::kRunning)
      uids[c.pod].insert(c.uid);
  for (const auto& [pod, some] : uids)
    if (some.size() > 1 && !context().pods.TemplateOf(pod)->forced)
      context().findings.Add(
          "one-pod", context().pods.ShortName(pod),
          fmt::format("containers of {} UIDs run under its full name", some.size()));
}

}  // namespace splitlet::chaos
