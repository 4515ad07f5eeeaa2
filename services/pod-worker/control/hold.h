#pragma once

/// Computes what gc may remove from the runtime's records and the workers, so that nothing a pod
/// still needs goes and nothing is removed that is about to be started.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/garbage-collection.md; docs/safety.md, rule 25.

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"

namespace splitlet::pod_worker {

struct HoldWishes {
  std::vector<std::string> uids, container_ids, sandbox_ids;
};

/// How far a pod is, as removal sees it.
enum class PodNeed {
  kNothing,     // no worker, or all of it may go
  kRemains,     // finished, but its object is still wanted: its directories stay
  kNewest,      // unfinished: what its next attempt needs stays
  kEverything,  // being worked on at this moment
};

struct HoldAnswer {
  HoldWishes removable;
  std::set<std::string> held_uids;  // nothing is started for these
};

HoldAnswer ComputeHold(const HoldWishes& wishes, const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers,
                       const std::function<PodNeed(const std::string& uid)>& need);

}  // namespace splitlet::pod_worker
