#include "chaos/rules/status.h"

#include <fmt/format.h>

#include <utility>

#include "chaos/rules/snapshot_queries.h"

namespace splitlet::chaos {

void StatusRule::AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const {
  for (const auto& [name, wanted] : context().pods.all()) CheckPod(wanted, snapshot, found);
}

void StatusRule::CheckPod(const WantedPod& pod, const Snapshot& snapshot,
                          std::vector<Violation>& found) const {
  const auto add = [&](std::string text) {
    found.push_back(MakeViolation("status", pod.pod.name, std::move(text)));
  };
  const ReportedPod* reported = ReportedOf(snapshot, pod.full_name);
  if (reported == nullptr) return add("has no status");
  const Ends ends = pod.pod.from->ends;
  if (ends != Ends::kRuns && ends != Ends::kRestarts) return;
  if (reported->phase != "Running")
    return add(fmt::format("is reported {}, want Running", reported->phase));
  if (ends == Ends::kRestarts) return;  // its containers change each second
  if (!reported->ready) add("is reported not ready");
  for (const auto& c : reported->containers)
    if (!c.running || !IsRunning(snapshot, BareId(c.id)))
      add(fmt::format("container {} is reported as {}, which does not run", c.name,
                      BareId(c.id).substr(0, 12)));
}

void StatusRule::AfterAll(const Snapshot& snapshot, std::vector<Violation>& found) const {
  for (const auto& reported : snapshot.reported)
    if (context().pods.IsUnwanted(reported.name))
      found.push_back(MakeViolation("status", context().pods.ShortName(reported.name),
                                    "was removed, but still has a status"));
}

}  // namespace splitlet::chaos
