#include "chaos/rules/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {

void ServerRule::AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const {
  if (!context().scenario.api_server || !snapshot.server_answered) return;
  if (!snapshot.node_ready)
    found.push_back(MakeViolation("server", "node", "is not Ready at the API server"));
  for (const auto& [name, wanted] : context().pods.all()) CheckPod(wanted, snapshot, found);
}

void ServerRule::CheckPod(const WantedPod& pod, const Snapshot& snapshot,
                          std::vector<Violation>& found) const {
  const ReportedPod* reported = ReportedOf(snapshot, pod.full_name);
  if (reported == nullptr) return;  // the rule `status` reports this
  const auto add = [&](std::string text) {
    found.push_back(MakeViolation("server", pod.pod.name, std::move(text)));
  };
  const PodTemplate& from = *pod.pod.from;
  const auto count = std::ranges::count(snapshot.served, pod.full_name, &ReportedPod::name);
  if (count != 1) return add(fmt::format("is {} times at the API server", count));
  const ReportedPod& served = *FindPod(snapshot.served, pod.full_name);
  if (served.deleting) return add("is being deleted at the API server");
  if (served.mirror == from.api) return add(from.api ? "is a mirror pod" : "is not a mirror pod");
  if (from.api && served.uid != reported->uid)
    return add(fmt::format("is {} at the API server and {} here", served.uid, reported->uid));
  // A mirror pod without a UID in its manifest has the UID computed from the manifest's content.
  if (served.version != pod.pod.version && !from.same_uid)
    return add(fmt::format("is version {} there, want {}", served.version, pod.pod.version));
  if (served.phase != reported->phase || served.ready != reported->ready)
    return add(fmt::format("is {}, {} at the API server and {}, {} here", served.phase,
                           served.ready ? "ready" : "not ready", reported->phase,
                           reported->ready ? "ready" : "not ready"));
  if (from.ends == Ends::kRestarts) return;  // its status changes each second
  if (served.containers != reported->containers)
    add("the API server shows other containers than the node");
}

void ServerRule::AfterAll(const Snapshot& snapshot, std::vector<Violation>& found) const {
  if (context().scenario.api_server && !snapshot.server_answered)
    found.push_back(MakeViolation("server", kApiServer, "does not answer"));
  for (const auto& served : snapshot.served)
    if (context().pods.IsUnwanted(served.name))
      found.push_back(MakeViolation("server", context().pods.ShortName(served.name),
                                    "was removed, but is still at the API server"));
}

}  // namespace splitlet::chaos
