#include "chaos/rules/resurrected.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace splitlet::chaos {

void ResurrectedRule::OnInspected(const Snapshot& snapshot) {
  if (snapshot.runtime_answered)
    CheckRuntime(snapshot);  // before CheckServer adds the pods that
                             // leave now
  if (snapshot.server_answered) RecordServer(snapshot);
}

void ResurrectedRule::RecordServer(const Snapshot& snapshot) {
  std::set<std::string> present;
  for (const auto& served : snapshot.served) {
    const PodTemplate* from = context().pods.TemplateOf(served.name);
    if (from != nullptr && !from->same_uid && !served.mirror) present.insert(served.uid);
  }
  std::ranges::set_difference(served_, present, std::inserter(left_server_, left_server_.end()));
  served_ = std::move(present);
}

void ResurrectedRule::CheckRuntime(const Snapshot& snapshot) {
  std::set<std::string> forced_running;
  for (const auto& c : snapshot.containers) {
    const PodTemplate* from = context().pods.TemplateOf(c.pod);
    if (from == nullptr || c.state != SeenContainer::State::kRunning ||
        !left_server_.contains(c.uid))
      continue;
    if (from->forced && !forced_over_.contains(c.uid)) {
      forced_running.insert(c.uid);
      continue;
    }
    context().findings.Add(
        "resurrected", context().pods.ShortName(c.pod),
        fmt::format("container {} runs although the API server no longer has the pod", c.name));
  }
  std::ranges::set_difference(forced_running_, forced_running,
                              std::inserter(forced_over_, forced_over_.end()));
  forced_running_ = std::move(forced_running);
}

}  // namespace splitlet::chaos
