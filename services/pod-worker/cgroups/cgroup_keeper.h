#pragma once

/// Keeps the cgroups of pods as they should be while nothing is done for one pod: the shares of the
/// classes, and cgroups that nobody came to take down.
/// In:      OnPodsChanged when a pod began or ended; OnTick each minute.
/// Out:     events of the node, NodeAllocatableEnforced and FailedNodeAllocatableEnforcement.
/// Owns:    nothing but what is under way.
/// Killed:  the next minute does it.
/// Threads: the loop's; files are touched on strands, those of a pod on the pod's own.
/// Errors:  logged when they change; tried again at the next minute.
/// Source:  docs/behaviour/cgroups.md, "Life".

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/cgroups/memory_qos_metrics.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/pod/workers.h"

namespace splitlet::pod_worker {

class CgroupKeeper {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;          // files
    exec::Strands& runtime_strands;  // of pods, where their syncs run
    cri::Reader& reader;
    const PodCgroups& cgroups;
    const Workers& workers;
    daemon::EventRecorder& events;
    const Log& log;
    std::string node_name;
    prometheus::Registry& metrics;
    const MemoryQos& memory_qos;
    Duration request_timeout;
    /// Nobody works for the pod, and nothing is on disk that would make somebody.
    std::function<bool(const std::string& uid)> is_forgotten;
  };
  explicit CgroupKeeper(Deps deps)
      : deps_(std::move(deps)), memory_(deps_.metrics, deps_.memory_qos) {}

  void OnPodsChanged();
  void OnTick();

 private:
  void SetShares();
  void OnSharesSet(const Status& limited, const Status& set, const ClassRequests& requests);
  /// The node's events: what is reserved is kept, or why not.
  void TellLimited(const Status& limited);
  void NodeEvent(bool warning, const std::string& reason, const std::string& message);
  void OnMarkedListed(const StatusOr<std::vector<std::string>>& uids);
  /// On the pod's strand. What has a sandbox has somebody who will come.
  Status DestroyForgotten(const std::string& uid) const;
  ClassRequests SumOfPods() const;

  const Deps deps_;
  MemoryQosMetrics memory_;
  bool setting_ = false, again_ = false;
  std::string trouble_;  // of the last time
  std::optional<std::string>
      limited_{};  // the last trouble with all pods that was told; empty: none
};

}  // namespace splitlet::pod_worker
