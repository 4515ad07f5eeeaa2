#pragma once

/// Which pods hold resources of the node: pods with a grant whose worker is not terminated, and own
/// admissions that are not granted yet. An admission whose grant pod-worker refuses for good holds
/// nothing, unless something of the pod runs already. No other pod counts. allocated_resources.h
/// asks about each pod; only this file decides.
/// Threads: pure functions, any.
/// Errors: none.
/// Source: docs/safety.md, rule 12.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/sync-loop/admission/requests.h"
#include "services/sync-loop/pods/pod_digests.h"

namespace splitlet::sync_loop {

/// All that is known of one UID.
struct LoadInput {
  const PodDigest* pod = nullptr;        // of `desired`; nullptr: it has no record
  const WorkerDigest* worker = nullptr;  // of complete `workers`; nullptr: it has none
  int64_t admitted_incarnation = 0;      // own admission; 0: none
  bool called = false;                   // a grant was sent that may not show in `workers` yet
  bool running = false;                  // the runtime shows a part of it running
};

struct Standing {
  bool counts = false;
  bool ends = false;  // it terminates already: its resources become free
  bool operator==(const Standing&) const = default;
};
Standing ComputeStanding(const LoadInput& input);

/// The allocated resources of the node during one turn of admission.
struct Allocation {
  NodeLoad held;   // by all pods that count
  NodeLoad later;  // the same without the pods that terminate
  /// The requests of pods that wait: younger API pods leave them free.
  std::vector<std::pair<std::string, PodRequests>> reserved;
};

/// `load` with the requests of the waiting pods.
NodeLoad WithReserved(const NodeLoad& load, const Allocation& allocation);

}  // namespace splitlet::sync_loop
