#pragma once

/// How a pod has ended, for ever: phase, reason and message, and the observation that they rest on.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/safety.md, rule 20.

#include <cstdint>
#include <memory>
#include <string>

#include "libs/cri/incarnation.h"
#include "libs/kube/pod_types.h"

namespace splitlet::v1 {
class ObservedPod;
class TerminalStatus;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

struct EndedPod {
  const v1::TerminalStatus* before = nullptr;  // what stood before the stop; may be null
  const kube::Pod* pod = nullptr;              // null: never granted, or not known any more
  bool evicted = false;
  const std::string& reason;  // why it was ended; empty: it was not wanted any more
  const std::string& message;
  const v1::ObservedPod& last_seen;  // when its sandboxes were stopped
  int64_t incarnation = 0;
  const cri::StartedAttempts& begun;  // in this incarnation; what of it is gone has ended
};
/// A status that stood before the stop stays, with the last observation.
std::shared_ptr<const v1::TerminalStatus> TerminalStatusOf(const EndedPod& ended);

}  // namespace splitlet::pod_worker
