#include "services/pod-worker/probes/schedule.h"

#include <algorithm>

namespace splitlet::pod_worker {

ProbeState Count(ProbeKind kind, const ProbeTiming& timing, ProbeState state, bool success) {
  const int threshold = success ? timing.success_threshold : timing.failure_threshold;
  const bool in_row = state.row > 0 && state.last == success;
  state.row = in_row ? std::min(state.row, threshold - 1) + 1 : 1;
  state.last = success;
  if (state.row < threshold) return state;
  state.result = success;
  const bool ends = kind == ProbeKind::kStartup || (kind == ProbeKind::kLiveness && !success);
  if (ends) {
    state.on_hold = true;
    state.row = 0;
  }
  return state;
}

Clock::Time FirstDue(const ProbeTiming& timing, const FirstRun& first) {
  const double share = first.process_age < timing.period ? first.random : 0;
  const Duration jitter{
      static_cast<Duration::rep>(share * static_cast<double>(timing.period.count()))};
  return std::max(first.now + jitter, first.container_started + timing.initial_delay);
}

Clock::Time NextDue(Clock::Time due, Duration period, Clock::Time now) {
  const Clock::Time next = due + period;
  if (next >= now) return next;
  return next + period * ((now - next) / period);
}

/// Divides, because the product of the greatest period and threshold overflows a Duration.
bool HasHadItsRuns(const ProbeTiming& timing, Duration age) {
  const Duration probed = age - timing.initial_delay;
  const auto runs = probed / timing.period;
  if (runs != timing.failure_threshold) return runs > timing.failure_threshold;
  return probed % timing.period > Duration{0};
}

Clock::Time ResumeDue(Clock::Time due, Duration period, Clock::Time now) {
  if (due >= now) return due;
  const Clock::Time last = NextDue(due - period, period, now);
  return last < now ? last + period : last;
}

}  // namespace splitlet::pod_worker
