#pragma once

/// pod-worker as sync-loop calls it; by gRPC in rpc.h. config-source: libs/bus/desired_owner.h.
/// `traceparent`: of the change that the call is about; may be empty.
/// Threads: strands; calls block up to their deadline. Errors: gRPC codes, unchanged.
/// Source: DESIGN.md "The calls".

#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::v1 {
class KillPodRequest;
class UpdatePodRequest;
}  // namespace splitlet::v1

namespace splitlet::sync_loop {

class WorkerClient {
 public:
  virtual ~WorkerClient() = default;
  virtual Status UpdatePod(const v1::UpdatePodRequest& request, const Deadline& deadline,
                           const std::string& traceparent) = 0;
  virtual Status KillPod(const v1::KillPodRequest& request, const Deadline& deadline,
                         const std::string& traceparent) = 0;
};

}  // namespace splitlet::sync_loop
