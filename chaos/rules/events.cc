#include "chaos/rules/events.h"

#include <fmt/format.h>

namespace splitlet::chaos {

void EventsRule::OnInspected(const Snapshot& snapshot) {
  if (!snapshot.server_answered) return;
  const int limit = context().scenario.limits.events;
  for (const SeenEvents& seen : snapshot.events) {
    const int64_t recorded = rates_.InLastMinute(seen.uid, snapshot.at, seen.count);
    if (context().pods.IsOurs(seen.pod) && recorded > limit)
      context().findings.Add(
          "events", context().pods.ShortName(seen.pod),
          fmt::format("{} events about the pod in a minute at the API server, the limit is {}",
                      recorded, limit));
  }
}

}  // namespace splitlet::chaos
