#pragma once

/// The numbers of a pod: which incarnation of its UID it is, and which generation in that.
/// ConfigSourceService asks for a pod that is added, and for one whose worker is ahead.
/// Threads: pure, any.
/// Errors: none.
/// Units: numbers are wall milliseconds, or the last number plus one.
/// Source: docs/behaviour/config-sources.md, "Life of a UID"; docs/safety.md, rule 2.

#include <cstdint>
#include <optional>

#include "libs/base/clock.h"
#include "services/config-source/merge.h"

namespace splitlet::config_source {

/// Incarnations and generations: the last one plus one, or wall time in ms, whichever is greater.
int64_t NextNumber(int64_t last, WallTime now);

/// What pod-worker says of the incarnation that it has.
struct WorkerIncarnation {
  int64_t incarnation = 0, generation = 0;
  bool finished = false;
  // Terminating or later because it was taken away, not because its containers are done.
  bool ended = false;
  // Ended because the node shut down, in another boot than this one.
  bool lives_again = false;
};
struct Incarnation {
  int64_t incarnation = 0, generation = 0;
};
/// The numbers of a pod that is added. `known`: its record, still REMOVED; nullptr when nothing is
/// remembered. Then a worker that goes on has the numbers to go on with, so that its pod is not
/// started anew. `after`: the last incarnation of the pods from the same place, so that their order
/// is known, however the wall clock jumped.
Incarnation ChooseIncarnation(const KnownPod* known, const WorkerIncarnation* worker, WallTime now,
                              int64_t after);
/// The numbers of a wanted pod whose worker is already in a later incarnation than we know of, or
/// whose incarnation went with an earlier boot; else nothing.
std::optional<Incarnation> CatchUp(const KnownPod& known, const WorkerIncarnation& worker,
                                   WallTime now);

}  // namespace splitlet::config_source
