#pragma once

/// How status asks the other processes for their health. The gRPC implementation is in rpc.h.
/// Threads: Ask on a strand; it blocks until its deadline at most. Errors: gRPC codes.
/// Source: DESIGN.md rule 24.

#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/status/node_conditions.h"

namespace splitlet::status {

struct PeerAnswer {
  bool healthy = true;
  std::string reason;                   // why not
  std::optional<RuntimeState> runtime;  // of pleg
};

class PeerHealth {
 public:
  virtual ~PeerHealth() = default;
  virtual StatusOr<PeerAnswer> Ask(const std::string& process, Deadline deadline) = 0;
};

}  // namespace splitlet::status
