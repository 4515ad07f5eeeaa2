#include "services/pod-worker/pod/class_requests.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/status.h"
#include "libs/kube/resources.h"

namespace splitlet::pod_worker {

ClassRequests& ClassRequests::operator+=(const ClassRequests& other) {
  burstable_millicores += other.burstable_millicores;
  burstable_memory_bytes += other.burstable_memory_bytes;
  guaranteed_memory_bytes += other.guaranteed_memory_bytes;
  return *this;
}

ClassRequests ClassRequestsOf(const kube::Pod& pod) {
  const auto qos = kube::QosOf(pod);
  const auto requests = kube::PodRequests(pod);
  if (!qos.ok() || !requests.ok()) return {};
  const int64_t memory = kube::Of(*requests, kube::kMemory).Value();
  switch (*qos) {
    case kube::QosClass::kGuaranteed: return {.guaranteed_memory_bytes = memory};
    case kube::QosClass::kBurstable:
      return {.burstable_millicores = kube::Of(*requests, kube::kCpu).MilliValue(),
              .burstable_memory_bytes = memory};
    case kube::QosClass::kBestEffort: return {};
  }
  UNREACHABLE();
}

}  // namespace splitlet::pod_worker
