#pragma once

/// Keeps the cgroups above those of pods current, and tears down cgroups whose pods are gone.
/// In:      OnPodsChanged when a pod began or ended; OnTick each minute.
/// Out:     shares and limits of cgroups; the node's events NodeAllocatableEnforced and
///          FailedNodeAllocatableEnforcement.
/// Owns:    only whether shares are being set.
/// Killed:  the next tick does the same work.
/// Threads: the loop's; files are touched on strands, those of a pod on the pod's own.
/// Errors:  logged when they change; retried each minute.
/// Source:  docs/behaviour/cgroups.md, "Lifecycle".

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/cgroups/memory_qos_metrics.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/pod/workers.h"

namespace splitlet::pod_worker {

class CgroupKeeper {
 public:
  struct Deps {
    exec::Env env;
    exec::Strands& runtime_strands;  // of pods, where their syncs run
    cri::Reader& reader;
    const PodCgroups& cgroups;
    const Workers& workers;
    daemon::EventRecorder& events;
    std::string node_name;
    const MemoryQos& memory_qos;
    Duration request_timeout;
    /// The pod has neither a worker nor a file that would make one.
    std::function<bool(const std::string& uid)> is_forgotten;
  };
  explicit CgroupKeeper(Deps deps)
      : deps_(std::move(deps)),
        memory_(deps_.env.metrics, deps_.memory_qos),
        asker_(deps_.env.loop, deps_.env.strands) {}

  void OnPodsChanged();
  void OnTick();

 private:
  void SetShares();
  void OnSharesSet(const Status& limited, const Status& set, const ClassRequests& requests);
  /// Records the node's events: reservations are enforced, or why not.
  void ReportLimited(const Status& limited);
  void NodeEvent(bool warning, const std::string& reason, const std::string& message);
  void OnMarkedListed(const StatusOr<std::vector<std::string>>& uids);
  /// On the pod's strand. Leaves the cgroup of a ready sandbox, because a worker will find that
  /// pod.
  Status DestroyForgotten(const std::string& uid) const;
  ClassRequests SumOfPods() const;

  const Deps deps_;
  MemoryQosMetrics memory_;
  bool setting_ = false, again_ = false;
  std::string trouble_;                   // error of the last SetShares; empty: none
  std::optional<std::string> limited_{};  // last reported error of the cgroup of all pods; empty:
                                          // none; unset: not reported
  const exec::Asker asker_;               // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
