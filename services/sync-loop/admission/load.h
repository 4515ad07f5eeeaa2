#pragma once

/// Which pods are the load of the node: those with a grant whose worker is not terminated, and own
/// admissions that are not granted yet. An admission whose grant pod-worker refuses whenever it
/// comes holds nothing, unless something of the pod runs already. Nothing else counts, however its
/// record came to be there. room.h asks for each pod; it is decided here alone.
/// Threads: pure functions, any.
/// Errors: none.
/// Source: docs/safety.md, rule 12.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/sync-loop/admission/requests.h"
#include "services/sync-loop/pod_digests.h"

namespace splitlet::sync_loop {

/// All that is known of one UID.
struct LoadQuestion {
  const PodDigest* pod = nullptr;        // of `desired`; nullptr: not there
  const WorkerDigest* worker = nullptr;  // of complete `workers`; nullptr: it has none
  int64_t admitted_incarnation = 0;      // own admission; 0: none
  bool called = false;                   // a call was sent just now: a grant may not show yet
  bool running = false;                  // the runtime shows something of it running
};

struct Standing {
  bool counts = false;
  bool ends = false;  // what it holds comes free without anybody's doing
  bool operator==(const Standing&) const = default;
};
Standing ComputeStanding(const LoadQuestion& question);

/// The room of the node during one turn of admission.
struct Room {
  NodeLoad held;   // by all that counts
  NodeLoad later;  // the same once those that end have ended
  /// What pods request that wait for room: younger API pods leave it to them.
  std::vector<std::pair<std::string, PodRequests>> awaited;
};

/// `load` with what the waiting pods will take.
NodeLoad WithAwaited(const NodeLoad& load, const Room& room);

}  // namespace splitlet::sync_loop
