#pragma once

/// When a probe runs, and what its runs come to.
/// Threads: pure functions, any.
/// Errors:  none.
/// Units:   Duration, Clock::Time.
/// Source:  docs/behaviour/probes.md, "When a probe runs" and "Results".

#include <optional>

#include "libs/base/clock.h"
#include "services/pod-worker/probes/probe.h"

namespace splitlet::pod_worker {

/// How one probe of one container stands.
struct ProbeState {
  std::optional<bool> result;  // unset: none yet
  bool last = false;           // of the last run; says nothing while `row` is 0
  int row = 0;                 // so many runs in a row ended as the last; up to what counts
  bool on_hold = false;        // not run any more in this container
  bool operator==(const ProbeState&) const = default;
};

/// After one more run of the probe, which succeeded or failed.
ProbeState Count(ProbeKind kind, const ProbeTiming& timing, ProbeState state, bool success);

struct FirstRun {
  Clock::Time now;
  Clock::Time container_started;
  Duration process_age{0};  // of this start of pod-worker
  double random = 0;        // in [0, 1)
};
/// When a probe is first due. A young process spreads the probes of all containers over a period.
Clock::Time FirstDue(const ProbeTiming& timing, const FirstRun& first);

/// The tick after `due`. Ticks keep their step: of those that have been missed only the last is
/// made up for, at once.
Clock::Time NextDue(Clock::Time due, Duration period, Clock::Time now);

/// A container of this age has had as many runs of the probe as its failure threshold allows.
bool HasHadItsRuns(const ProbeTiming& timing, Duration age);

/// The tick at or after `now`, in the step that an earlier start of the process had.
Clock::Time ResumeDue(Clock::Time due, Duration period, Clock::Time now);

}  // namespace splitlet::pod_worker
