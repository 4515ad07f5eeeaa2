#include "chaos/rules/grace.h"

#include <fmt/format.h>

#include <algorithm>

#include "chaos/rules/snapshot_queries.h"
#include "libs/operate/text.h"

namespace splitlet::chaos {

void GraceRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.runtime_answered) return;
  for (const EndedStop& ended : context().stops.ended()) CheckStop(ended, snapshot);
}

void GraceRule::CheckStop(const EndedStop& ended, const Snapshot& snapshot) const {
  const Stop& stop = ended.stop;
  const Duration tolerance = context().scenario.limits.grace + (ended.exact ? Duration{0} : kSlack);
  const Duration whole = ended.ended - stop.removed;
  if (stop.ignores_term && whole < stop.grace - tolerance)
    context().findings.Add(
        "grace", stop.pod,
        fmt::format("ended {} after the removal of its manifest; its grace period is {}",
                    operate::TimeText(whole), operate::TimeText(stop.grace)));
  const auto witness = snapshot.witnesses.find(stop.witness);
  if (witness == snapshot.witnesses.end()) return;
  const auto& terms = witness->second.terms;
  const auto term =
      std::ranges::find_if(terms, [&stop](WallTime at) { return at >= stop.removed - 100ms; });
  if (term == terms.end()) return;
  const Duration lived = ended.ended - *term;
  // Only a fault around the deadline can have delayed the end.
  const Duration excused =
      context().disturbances.ExcuseOfStop(*term + stop.grace - kSlack, ended.ended);
  const Duration allowed = stop.grace + tolerance + excused;
  if (lived > allowed)
    context().findings.Add(
        "grace", stop.pod,
        fmt::format("lived {} after the first TERM; its grace period is {}, and {} are excused",
                    operate::TimeText(lived), operate::TimeText(stop.grace),
                    operate::TimeText(allowed - stop.grace)));
}

}  // namespace splitlet::chaos
