#include "chaos/rules/terminal.h"

#include <fmt/format.h>

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {

void TerminalRule::OnInspected(const Snapshot& snapshot) {
  if (snapshot.status_answered) CheckStatus(snapshot);
  if (snapshot.runtime_answered) CheckRuntime(snapshot);
  if (snapshot.server_answered) CheckServer(snapshot);
}

void TerminalRule::CheckStatus(const Snapshot& snapshot) {
  for (const auto& reported : snapshot.reported) {
    if (!context().pods.IsOurs(reported.name)) continue;
    const auto before = terminal_.find(reported.uid);
    if (before != terminal_.end() && before->second.phase != reported.phase) {
      const WantedPod* wanted = context().pods.Find(before->second.pod);
      if (wanted != nullptr && wanted->pod.from->same_uid)
        terminal_.erase(before);
      else
        context().findings.Add(
            "terminal", context().pods.ShortName(reported.name),
            fmt::format("phase {} after {}", reported.phase, before->second.phase));
    } else if (IsTerminal(reported.phase)) {
      terminal_[reported.uid] = {.pod = context().pods.ShortName(reported.name),
                                 .phase = reported.phase};
    }
  }
}

void TerminalRule::CheckRuntime(const Snapshot& snapshot) const {
  for (const auto& c : snapshot.containers) {
    if (!context().pods.IsOurs(c.pod) || c.state != SeenContainer::State::kRunning) continue;
    // A container under a fixed UID may belong to an incarnation whose status is not reported yet;
    // `no-rerun` counts those.
    const auto terminal = terminal_.find(c.uid);
    if (terminal == terminal_.end() || context().pods.TemplateOf(c.pod)->same_uid) continue;
    context().findings.Add("terminal", context().pods.ShortName(c.pod),
                           fmt::format("container {} runs although the pod's phase was {}", c.name,
                                       terminal->second.phase));
  }
}

void TerminalRule::CheckServer(const Snapshot& snapshot) {
  for (const auto& served : snapshot.served) {
    if (!context().pods.IsOurs(served.name)) continue;
    // A mirror pod of a fixed UID may stand for several incarnations.
    if (context().pods.TemplateOf(served.name)->same_uid) continue;
    if (const auto before = served_.find(served.uid);
        before != served_.end() && before->second != served.phase)
      context().findings.Add(
          "terminal", context().pods.ShortName(served.name),
          fmt::format("phase {} after {} at the API server", served.phase, before->second));
    else if (IsTerminal(served.phase))
      served_[served.uid] = served.phase;
  }
}

}  // namespace splitlet::chaos
