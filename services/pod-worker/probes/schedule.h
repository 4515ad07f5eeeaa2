#pragma once

/// When a probe runs, and the result that its runs add up to.
/// Threads: pure functions, any.
/// Errors:  none.
/// Units:   Duration, Clock::Time.
/// Source:  docs/behaviour/probes.md, "When a probe runs" and "Results".

#include <optional>

#include "libs/base/clock.h"
#include "services/pod-worker/probes/probe.h"

namespace splitlet::pod_worker {

/// The state of one probe of one container.
struct ProbeState {
  std::optional<bool> result;  // unset: none yet
  bool last = false;           // the last run succeeded; meaningless while `row` is 0
  int row = 0;                 // runs in a row that ended like the last, up to the threshold
  bool on_hold = false;        // the probe does not run again in this container
  bool operator==(const ProbeState&) const = default;
};

/// The state after one more run.
ProbeState Count(ProbeKind kind, const ProbeTiming& timing, ProbeState state, bool success);

struct FirstRun {
  Clock::Time now;
  Clock::Time container_started;
  Duration process_age{0};  // since pod-worker started
  double random = 0;        // in [0, 1)
};
/// When a probe is first due. Soon after its start pod-worker spreads the probes of all containers
/// over a period.
Clock::Time FirstDue(const ProbeTiming& timing, const FirstRun& first);

/// The tick after `due`. Ticks keep their step. Of several missed ticks only the last one runs, and
/// immediately.
Clock::Time NextDue(Clock::Time due, Duration period, Clock::Time now);

/// A container of this age has had as many runs as the failure threshold of the probe allows.
bool HasHadItsRuns(const ProbeTiming& timing, Duration age);

/// The tick at or after `now`, in the step that pod-worker had before its restart.
Clock::Time ResumeDue(Clock::Time due, Duration period, Clock::Time now);

}  // namespace splitlet::pod_worker
