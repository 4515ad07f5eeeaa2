#include "chaos/rules/no_rerun.h"

#include <fmt/format.h>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::chaos {

void NoRerunRule::OnInspected(const Snapshot& snapshot) {
  for (const auto& [name, wanted] : context().pods.all()) {
    const PodTemplate& from = *wanted.pod.from;
    if (from.pod->spec().restart_policy() != "Never" || wanted.pod.witness.empty()) continue;
    const auto witness = snapshot.witnesses.find(wanted.pod.witness);
    if (witness == snapshot.witnesses.end()) continue;
    const int incarnations = from.same_uid ? context().pods.Incarnations(name) : 1;
    const auto starts = witness->second.starts.size();
    if (starts > static_cast<size_t>(incarnations))
      context().findings.Add(
          "no-rerun", name,
          fmt::format("started {} times with restartPolicy Never in {} {}", starts, incarnations,
                      incarnations == 1 ? "incarnation" : "incarnations"));
  }
}

}  // namespace splitlet::chaos
