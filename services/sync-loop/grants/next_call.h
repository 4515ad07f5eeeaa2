#pragma once

/// Which call pod-worker needs about a pod: the records in `desired` and `admission` are compared
/// with the one in `workers`.
/// Threads: pure functions, any.
/// Errors: none.
/// Source: docs/behaviour/admission.md, "Calls to pod-worker"; docs/safety.md, rules 7, 8, 14
/// and 15.

#include <cstdint>

#include "services/sync-loop/pods/pod_digests.h"

namespace splitlet::sync_loop {

struct NextCall {
  enum class Kind { kNone, kCreate, kUpdate, kSync, kKill };
  Kind kind = Kind::kNone;
  int64_t incarnation = 0;
  int64_t generation = 0;
  bool operator==(const NextCall&) const = default;
};

/// The saved decision about the wanted incarnation.
enum class Admission {
  kNone,  // undecided, waiting or rejected
  kAdmitted,
  kPreempted,  // admitted, and then a preemption victim of another pod
};

struct CallInput {
  const PodDigest* pod = nullptr;        // nullptr: no record in `desired`
  const WorkerDigest* worker = nullptr;  // nullptr: no record in `workers`
  Admission admission = Admission::kNone;
  bool worker_known = false;  // `workers` is live and complete: no record means no worker
  bool running = false;       // the runtime shows a part of it running
  bool sync_due = false;
};

/// A pod without a record in `desired` needs no call: see orphans/orphan_watch.h.
NextCall ComputeNextCall(const CallInput& input);

}  // namespace splitlet::sync_loop
