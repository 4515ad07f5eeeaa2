#include "services/config-source/desired/incarnation.h"

#include <algorithm>
#include <chrono>

namespace splitlet::config_source {

int64_t NextNumber(int64_t last, WallTime now) {
  return std::max(last + 1,
                  std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count());
}

Incarnation ChooseIncarnation(const DesiredPod* known, const WorkerIncarnation* worker,
                              WallTime now, int64_t after) {
  const int64_t incarnation =
      std::max(known ? known->incarnation : 0, worker ? worker->incarnation : 0);
  const int64_t generation =
      NextNumber(std::max(known ? known->generation : 0, worker ? worker->generation : 0), now);
  const bool goes_on = known == nullptr && worker != nullptr && worker->end == WorkerEnd::kNone;
  return {goes_on ? incarnation : NextNumber(std::max(incarnation, after), now), generation};
}

bool IsOver(const DesiredPod& known, const WorkerIncarnation& worker) {
  return worker.incarnation > known.incarnation ||
         (worker.incarnation == known.incarnation && worker.finished);
}

std::optional<Incarnation> CatchUp(const DesiredPod& known, const WorkerIncarnation& worker,
                                   WallTime now) {
  const bool behind = worker.incarnation > known.incarnation;
  const bool over = worker.incarnation == known.incarnation && worker.end == WorkerEnd::kShutdown;
  if (known.IsRemoved() || (!behind && !over)) return std::nullopt;
  const int64_t generation = NextNumber(std::max(known.generation, worker.generation), now);
  const bool goes_on = worker.end == WorkerEnd::kNone;
  return Incarnation{goes_on ? worker.incarnation : NextNumber(worker.incarnation, now),
                     generation};
}

}  // namespace splitlet::config_source
