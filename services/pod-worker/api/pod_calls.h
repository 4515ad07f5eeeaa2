#pragma once

/// The calls that other processes make to pod-worker, as its gRPC server hands them on.
/// Threads: the loop's.
/// Errors:  gRPC codes, as each method says.
/// Source:  proto/splitlet/v1/services.proto; docs/design.md, "The calls".

#include <functional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::v1 {
class HoldReply;
class HoldRequest;
class KillPodReply;
class KillPodRequest;
class UpdatePodRequest;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class PodCalls {
 public:
  template <class R>
  using Done = std::function<void(StatusOr<R>)>;
  using DoneStatus = std::function<void(Status)>;

  virtual ~PodCalls() = default;
  PodCalls() = default;
  PodCalls(const PodCalls&) = delete;
  PodCalls& operator=(const PodCalls&) = delete;

  /// `traceparent`: of the change that is called for; what is done for it carries it.
  /// Answers when the grant is on disk. UNAVAILABLE before the files are read; FAILED_PRECONDITION
  /// for an incarnation that is over or a pod whose file cannot be read.
  virtual void OnUpdatePod(const v1::UpdatePodRequest& request, DoneStatus done,
                           const std::string& traceparent) = 0;
  /// Answers when the deadline is on disk.
  virtual void OnKillPod(const v1::KillPodRequest& request, Done<v1::KillPodReply> done,
                         const std::string& traceparent) = 0;
  virtual void OnHoldForRemoval(const v1::HoldRequest& request, Done<v1::HoldReply> done) = 0;
  virtual void OnReleaseHold(const std::string& hold_id) = 0;
  /// UNAVAILABLE before the runtime is listed; else as LeftVolumes says.
  virtual void OnTakeDownVolumes(const std::string& uid, const Done<Progress>& done) = 0;
  virtual std::vector<v1::WorkerRecord> GetWorkers() const = 0;
};

}  // namespace splitlet::pod_worker
