#pragma once

/// What gc asks of pod-worker; by gRPC in grpc_clients.h. config-source: libs/bus/desired_owner.h.
/// Threads: any; each call blocks until its answer or its deadline. Errors: gRPC codes; no answer
/// means no act.

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::gc {

struct HoldWishes {
  std::string request_id;
  std::vector<std::string> uids;  // pods whose directories are to go
  std::vector<std::string> container_ids, sandbox_ids;
};

/// What may go, of what was asked; nothing of it is started before the release or 60 s.
struct Hold {
  std::string id;
  std::vector<std::string> uids, container_ids, sandbox_ids;
};

class WorkerClient {
 public:
  virtual ~WorkerClient() = default;
  virtual StatusOr<Hold> HoldForRemoval(const HoldWishes& wishes, Deadline deadline) = 0;
  virtual Status ReleaseHold(const std::string& hold_id, Deadline deadline) = 0;
};

}  // namespace splitlet::gc
