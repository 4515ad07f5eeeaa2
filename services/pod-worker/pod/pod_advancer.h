#pragma once

/// The calls that parts of lower floors make upwards, to the loop that decides what happens next to
/// each pod.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  services/pod-worker/README.md, "One pod".

#include <memory>
#include <string>

#include "libs/base/clock.h"

namespace splitlet::cri {
struct PodListing;
}
namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

struct Worker;

class PodAdvancer {
 public:
  virtual ~PodAdvancer() = default;

  /// The pod may have something to do.
  virtual void Advance(const std::string& uid) = 0;
  virtual void AdvanceAfter(const std::string& uid, Duration wait) = 0;
  /// The pod is due; `listing` is shared by several pods, or null.
  virtual void AdvanceWith(const std::string& uid,
                           std::shared_ptr<const cri::PodListing> listing) = 0;
  /// A pod that may run has changed in the runtime, or its hold is over.
  virtual void OnPodChanged(const std::string& uid) = 0;
  /// The step that was begun for the worker is over. `again`: decide immediately what comes next.
  virtual void OnStepEnded(Worker& worker, bool again) = 0;
  /// `seen`: all incarnations of the pod, when its sync began.
  virtual void OnSeen(Worker& worker, const v1::ObservedPod& seen) = 0;
  /// Whether the runtime answers; empty: it does.
  virtual void OnRuntimeAnswer(const std::string& trouble) = 0;
  /// gc may be removing what the pod needs.
  virtual bool IsHeld(const std::string& uid) const = 0;
};

}  // namespace splitlet::pod_worker
