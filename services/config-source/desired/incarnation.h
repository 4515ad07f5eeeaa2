#pragma once

/// The numbers of a pod: the incarnation of its UID, and the generation within that incarnation.
/// ConfigSourceService asks when it adds a pod, and when a worker has a newer incarnation.
/// Threads: pure, any.
/// Errors: none.
/// Units: numbers are wall milliseconds, or the last number plus one.
/// Source: docs/behaviour/config-sources.md, "Incarnations of a UID"; docs/safety.md, rule 2.

#include <cstdint>
#include <optional>

#include "libs/base/clock.h"
#include "services/config-source/desired/merge.h"

namespace splitlet::config_source {

/// An incarnation or generation: the last one plus one, or wall time in ms, whichever is greater.
int64_t NextNumber(int64_t last, WallTime now);

/// Why the pod is terminating or later.
enum class WorkerEnd {
  kNone,      // it works, or its containers are done: the same incarnation goes on
  kRemoved,   // no source wanted it
  kShutdown,  // of the node, in an earlier boot: the pod starts again
};
/// The incarnation that pod-worker has.
struct WorkerIncarnation {
  int64_t incarnation = 0, generation = 0;
  bool finished = false;
  WorkerEnd end = WorkerEnd::kNone;
};
struct Incarnation {
  int64_t incarnation = 0, generation = 0;
};
/// The numbers of a pod that is added. `known`: its record, still REMOVED; nullptr when no record
/// is saved. Without a record the pod takes the numbers of a worker that still works for it, so
/// that its containers are not restarted. `after`: the last incarnation of the pods of the same
/// origin, which keeps their order even when the wall clock jumps.
Incarnation ChooseIncarnation(const DesiredPod* known, const WorkerIncarnation* worker,
                              WallTime now, int64_t after);
/// The worker of the removed pod `known` has finished the pod's incarnation, or has a newer one.
bool IsOver(const DesiredPod& known, const WorkerIncarnation& worker);
/// The numbers of a wanted pod whose worker has a newer incarnation than its record, or whose
/// incarnation was terminated by a shutdown in an earlier boot; else nothing.
std::optional<Incarnation> CatchUp(const DesiredPod& known, const WorkerIncarnation& worker,
                                   WallTime now);

}  // namespace splitlet::config_source
