#pragma once

/// pod-worker as sync-loop calls it: GrantSender and OrphanKiller. By gRPC in rpc.h.
/// `traceparent`: of the change that the call is about; may be empty.
/// Threads: strands; calls block up to their deadline.
/// Errors: gRPC codes, unchanged.
/// Source: ARCHITECTURE.md, "A pod's way".

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::v1 {
class KillPodRequest;
class UpdatePodRequest;
}  // namespace splitlet::v1

namespace splitlet::sync_loop {

inline constexpr Duration kCallTimeout = std::chrono::seconds{10};

class WorkerClient {
 public:
  virtual ~WorkerClient() = default;
  virtual Status UpdatePod(const v1::UpdatePodRequest& request, const Deadline& deadline,
                           const std::string& traceparent) = 0;
  virtual Status KillPod(const v1::KillPodRequest& request, const Deadline& deadline,
                         const std::string& traceparent) = 0;
};

}  // namespace splitlet::sync_loop
