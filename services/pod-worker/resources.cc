#include "services/pod-worker/resources.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/resources.pb.h"
#include "libs/kube/quantity.h"
#include "libs/kube/resources.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr int64_t kMinShares = 2;
constexpr int64_t kMaxShares = 262144;
constexpr int64_t kPeriodUs = 100000;
constexpr int64_t kMinQuotaUs = 1000;
constexpr int64_t kGuaranteedOom = -997;
constexpr int64_t kBestEffortOom = 1000;

template <class Map>
std::optional<int64_t> Amount(const Map& map, const std::string& name, bool milli) {
  const auto found = map.find(name);
  if (found == map.end()) return std::nullopt;
  const auto quantity = kube::Quantity::Parse(found->second.string());
  if (!quantity.ok()) return std::nullopt;
  return milli ? quantity->MilliValue() : quantity->Value();
}

bool IsCpu(const std::string& name) { return name == "cpu"; }

int64_t LimitWithPod(const kube::Pod& pod, const kube::Container& container,
                     const std::string& name) {
  const bool milli = IsCpu(name);
  const auto own = LimitOf(container.resources(), name, milli);
  return own ? *own : LimitOf(pod.spec().resources(), name, milli).value_or(0);
}

void SetCpu(std::optional<int64_t> request, int64_t limit,
            runtime::v1::LinuxContainerResources& out) {
  out.set_cpu_shares(CpuShares(request.value_or(limit)));
  out.set_cpu_period(kPeriodUs);
  out.set_cpu_quota(CpuQuota(limit, kPeriodUs));
}

}  // namespace

std::optional<int64_t> RequestOf(const kube::ResourceRequirements& resources,
                                 const std::string& name, bool milli) {
  return Amount(resources.requests(), name, milli);
}

std::optional<int64_t> LimitOf(const kube::ResourceRequirements& resources, const std::string& name,
                               bool milli) {
  return Amount(resources.limits(), name, milli);
}

int64_t CpuShares(int64_t millicores) {
  if (millicores == 0) return kMinShares;
  return std::clamp(millicores * 1024 / 1000, kMinShares, kMaxShares);
}

int64_t CpuQuota(int64_t millicores, int64_t period_us) {
  if (millicores == 0) return 0;
  return std::max(millicores * period_us / 1000, kMinQuotaUs);
}

int64_t OomScoreAdj(const kube::Pod& pod, const kube::Container& container, const NodeInfo& node) {
  if (kube::IsCritical(pod) && pod.spec().priority_class_name() == "system-node-critical")
    return kGuaranteedOom;
  const auto qos = kube::ComputeQos(pod);
  if (qos.ok() && *qos == kube::QosClass::kGuaranteed) return kGuaranteedOom;
  if (qos.ok() && *qos == kube::QosClass::kBestEffort) return kBestEffortOom;
  const int64_t request =
      RequestOf(container.resources(), "memory", false)
          .value_or(LimitOf(container.resources(), "memory", false).value_or(0));
  if (node.memory_bytes <= 0) return kBestEffortOom - 1;
  const double share = static_cast<double>(request) / static_cast<double>(node.memory_bytes);
  const int64_t score = 1000 - static_cast<int64_t>(1000.0 * std::min(share, 1.0));
  return std::clamp<int64_t>(score, 1000 + kGuaranteedOom, kBestEffortOom - 1);
}

void SetContainerResources(const kube::Pod& pod, const kube::Container& container,
                           const NodeInfo& node, runtime::v1::LinuxContainerResources& out) {
  SetCpu(RequestOf(container.resources(), "cpu", true), LimitWithPod(pod, container, "cpu"), out);
  out.set_memory_limit_in_bytes(LimitWithPod(pod, container, "memory"));
  out.set_oom_score_adj(OomScoreAdj(pod, container, node));
}

void SetPodResources(const kube::Pod& pod, runtime::v1::LinuxContainerResources& out) {
  int64_t cpu_request = 0, cpu_limit = 0, memory_limit = 0;
  bool all_cpu = true, all_memory = true;
  for (const auto& container : pod.spec().containers()) {
    const int64_t cpu = LimitWithPod(pod, container, "cpu"),
                  memory = LimitWithPod(pod, container, "memory");
    cpu_request += RequestOf(container.resources(), "cpu", true).value_or(cpu);
    cpu_limit += cpu;
    memory_limit += memory;
    all_cpu = all_cpu && cpu > 0;
    all_memory = all_memory && memory > 0;
  }
  SetCpu(cpu_request, all_cpu ? cpu_limit : 0, out);
  out.set_memory_limit_in_bytes(all_memory ? memory_limit : 0);
}

}  // namespace splitlet::pod_worker
