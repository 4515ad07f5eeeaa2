#include "services/pod-worker/probes/schedule.h"

#include <algorithm>

namespace splitlet::pod_worker {

ProbeState Count(ProbeKind kind, const ProbeTiming& timing, ProbeState state, bool success) {
  const int threshold = success ? timing.success_threshold : timing.failure_threshold;
  state.row = state.row > 0 && state.last == success ? std::min(state.row + 1, threshold) : 1;
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

Clock::Time ResumeDue(Clock::Time due, Duration period, Clock::Time now) {
  if (due >= now) return due;
  const Clock::Time last = NextDue(due - period, period, now);
  return last < now ? last + period : last;
}

}  // namespace splitlet::pod_worker
