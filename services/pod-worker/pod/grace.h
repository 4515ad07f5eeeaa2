#pragma once

/// How much time a pod or a container gets to end.
/// Threads: pure functions, any.
/// Errors:  none.
/// Units:   seconds where the name says so.
/// Source:  docs/behaviour/termination.md; docs/safety.md, rule 19.

#include <cstdint>
#include <optional>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// The longest grace, whatever the spec asks for: 30 years still fit into a count of nanoseconds,
/// here and in a runtime.
inline constexpr int64_t kMaxGrace = 1'000'000'000;

/// At least 1. Only ever shortened: `now_seconds` is what is left of the deadline set before, if
/// any.
struct GraceQuestion {
  std::optional<int64_t> left_seconds;      // of the deadline that stands
  std::optional<int64_t> deletion_seconds;  // deletionGracePeriodSeconds
  std::optional<int64_t> asked_seconds;     // by the kill
  std::optional<int64_t> spec_seconds;      // terminationGracePeriodSeconds
};
int64_t EffectiveGrace(const GraceQuestion& question);

/// Seconds that every container gets.
inline constexpr int64_t kMinGrace = 2;

/// Whole seconds up to `deadline`, rounded up, at least the 2 that every container gets; a
/// container that gets its signal `again` gets the rest and no more, so that retries and restarts
/// of this process do not move the end.
int64_t StopSeconds(Clock::Time deadline, Clock::Time now, bool again);

/// The grace of a container that is stopped to be replaced, not with its pod.
int64_t RestartGrace(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
