#pragma once

/// When a saved admission may be forgotten. PodAdmitter asks in each tick about each admission.
/// Threads: pure functions, any.
/// Errors: none; while it is not sure that the pod is gone, its admission stays.
/// Source: docs/safety.md, rules 3 and 8.

#include <cstdint>

#include "services/sync-loop/pods/pod_digests.h"

namespace splitlet::sync_loop {

/// A saved admission, and what the tables show of its pod. `desired` is live, and `workers` is live
/// and complete.
struct PastAdmission {
  int64_t incarnation = 0;
  bool desired = false;                  // `desired` has a record of the pod
  const WorkerDigest* worker = nullptr;  // nullptr: it has none
  bool seen_removed = false;             // in this start the owner of `desired` removed the record
};

enum class Retention {
  kKeep,
  kForget,
  /// No process removed the record. It may only not be there yet: the pod's source has to be
  /// complete without it.
  kForgetOnceSourceIsComplete,
};
Retention ComputeRetention(const PastAdmission& admission);

}  // namespace splitlet::sync_loop
