#pragma once

/// The kill of an incarnation: why it is to end, and until when.
/// Threads: values and pure functions, any.
/// Errors:  none.
/// Units:   seconds where the name says so.
/// Source:  docs/behaviour/termination.md; docs/safety.md, rule 19.

#include <cstdint>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "services/pod-worker/pod/traits.h"

namespace splitlet::pod_worker {

enum class Eviction {
  kNone,
  kForNode,      // the node has too little of something, or shuts down
  kForOwnLimit,  // the pod passed its own limits
};

/// Why an incarnation is to end, or to end sooner.
struct KillOrder {
  std::string reason, message;
  Eviction eviction = Eviction::kNone;
  bool removed = false;        // no source wants the pod
  bool node_shutdown = false;  // evicted because the node shuts down
  std::optional<int64_t> asked_grace, deletion_grace;
  std::string traceparent;  // empty: stays what it was
};

/// The sum of all orders for one incarnation.
struct Kill {
  Clock::Time deadline;  // unset: no order
  int64_t grace_seconds = 0;
  std::string reason, message;  // of the first order that has them
  Eviction eviction = Eviction::kNone;
  /// It ended only because the node shut down in this boot: in another one the static pod starts
  /// again. 0: not so.
  uint64_t shutdown_boot = 0;
  bool evicted() const { return eviction != Eviction::kNone; }
};

Eviction EvictionOf(bool evicted, bool own_limit);

struct KillInput {
  const KillOrder& order;
  const PodTraits& traits;
  bool first = false;  // of this incarnation
  Clock::Time now;
};
struct KillChange {
  bool shortened = false;  // the deadline came nearer
  bool evicts = false;     // the pod counts as evicted from now on
};
/// Adds an order. The deadline is set once and comes only nearer.
KillChange ApplyKill(const KillInput& input, Kill& kill);

}  // namespace splitlet::pod_worker
