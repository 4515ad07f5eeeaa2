#include "services/pod-worker/cgroups/memory_qos_metrics.h"

namespace splitlet::pod_worker {

MemoryQosMetrics::MemoryQosMetrics(prometheus::Registry& registry, const MemoryQos& qos)
    : qos_(qos) {
  if (!qos.on) return;
  min_ = &prometheus::BuildGauge()
              .Name("kubelet_memory_qos_node_memory_min_bytes")
              .Help("memory.min of the cgroup of all pods.")
              .Register(registry)
              .Add({});
  low_ = &prometheus::BuildGauge()
              .Name("kubelet_memory_qos_node_memory_low_bytes")
              .Help("memory.low of the cgroup of class Burstable.")
              .Register(registry)
              .Add({});
}

void MemoryQosMetrics::Set(const ClassRequests& requests) {
  if (min_ == nullptr) return;
  const int64_t low = qos_.keep ? requests.burstable_memory_bytes : 0;
  const int64_t guaranteed = qos_.keep ? requests.guaranteed_memory_bytes : 0;
  min_->Set(static_cast<double>(guaranteed + low));
  low_->Set(static_cast<double>(low));
}

}  // namespace splitlet::pod_worker
