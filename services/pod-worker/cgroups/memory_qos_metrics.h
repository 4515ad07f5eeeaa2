#pragma once

/// A kubelet's metrics of the memory that is protected for pods; only with the feature MemoryQoS.
/// Threads: one.
/// Errors:  none.
/// Units:   bytes.
/// Source:  docs/behaviour/cgroups.md, "Memory that is kept".

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "services/pod-worker/cgroups/pod_limits.h"
#include "services/pod-worker/pod/node_info.h"

namespace splitlet::pod_worker {

class MemoryQosMetrics {
 public:
  MemoryQosMetrics(prometheus::Registry& registry, const MemoryQos& qos);
  /// `requests`: of all pods.
  void Set(const ClassRequests& requests);

 private:
  const MemoryQos& qos_;
  prometheus::Gauge* min_ = nullptr;  // null: without the feature
  prometheus::Gauge* low_ = nullptr;
};

}  // namespace splitlet::pod_worker
