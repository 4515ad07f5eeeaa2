#include "chaos/rules/unwanted.h"

#include <fmt/format.h>

namespace splitlet::chaos {

void UnwantedRule::AfterAll(const Snapshot& snapshot, std::vector<Violation>& found) const {
  const WantedPods& pods = context().pods;
  for (const auto& c : snapshot.containers)
    if (pods.IsUnwanted(c.pod) && c.state == SeenContainer::State::kRunning)
      found.push_back(
          MakeViolation("unwanted", pods.ShortName(c.pod),
                        fmt::format("container {} runs, but no source wants its pod", c.name)));
  for (const auto& s : snapshot.sandboxes)
    if (pods.IsUnwanted(s.pod) && s.ready)
      found.push_back(MakeViolation("unwanted", pods.ShortName(s.pod),
                                    "its sandbox is ready, but no source wants it"));
}

}  // namespace splitlet::chaos
