#include "chaos/rules/room.h"

#include <fmt/format.h>

#include <map>
#include <string>

namespace splitlet::chaos {

void RoomRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.runtime_answered) return;
  std::map<std::string, const PodTemplate*> running;  // running containers by UID
  for (const auto& c : snapshot.containers)
    if (c.state == SeenContainer::State::kRunning && context().pods.IsOurs(c.pod))
      running[c.uid] = context().pods.TemplateOf(c.pod);
  int percent = 0;
  std::map<int, int> ports;
  for (const auto& [uid, from] : running) {
    percent += from->cpu_percent;
    if (from->host_port != 0 && ++ports[from->host_port] > 1)
      context().findings.Add("room", fmt::format("port-{}", from->host_port),
                             "two pods use the port at the same time");
  }
  if (percent > 100)
    context().findings.Add("room", "node",
                           fmt::format("running pods request {} % of the node's CPUs", percent));
}

}  // namespace splitlet::chaos
