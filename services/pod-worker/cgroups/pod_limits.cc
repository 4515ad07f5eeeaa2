#include "services/pod-worker/cgroups/pod_limits.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/resources.pb.h"
#include "libs/kube/resources.h"

namespace splitlet::pod_worker {

namespace {

/// Every container has a limit of the resource, or the pod as a whole has one.
bool IsLimited(const kube::Pod& pod, std::string_view name) {
  const std::string key(name);
  const auto limits = [&key](const auto& holder) {
    const auto& given = holder.resources().limits();
    const auto found = given.find(key);
    if (found == given.end()) return false;
    const auto amount = kube::Quantity::Parse(found->second.string());
    return amount.ok() && amount->MilliValue() > 0;
  };
  const auto& spec = pod.spec();
  if (limits(spec)) return true;
  return std::all_of(spec.containers().begin(), spec.containers().end(), limits) &&
         std::all_of(spec.init_containers().begin(), spec.init_containers().end(), limits);
}

void SetQuota(const PodLimitsInput& in, const kube::Resources& pod_limits, cgroup::Limits& out) {
  const int64_t quota =
      cgroup::CpuQuota(kube::Of(pod_limits, kube::kCpu).MilliValue(), in.cpu_period_us);
  if (!in.cpu_quota) {
    out.cpu_quota_us = cgroup::kUnlimited;
  } else if (quota > 0) {
    out.cpu_quota_us = quota;
    out.cpu_period_us = in.cpu_period_us;
  }
}

}  // namespace

StatusOr<cgroup::Limits> PodCgroupLimits(const PodLimitsInput& in) {
  ASSIGN_OR_RETURN(const auto requests, kube::PodRequests(in.pod), "requests");
  ASSIGN_OR_RETURN(const auto limits, kube::PodLimits(in.pod), "limits");
  ASSIGN_OR_RETURN(const auto qos, kube::QosOf(in.pod), "class");
  cgroup::Limits out;
  for (const node::HugePages& pages : in.huge_pages)
    out.huge_pages[pages.size] = kube::Of(requests, pages.resource).Value();
  if (in.pids > 0) out.pids = in.pids;
  if (qos == kube::QosClass::kBestEffort) {
    out.cpu_shares = cgroup::kMinShares;
    return out;
  }
  out.cpu_shares = cgroup::CpuShares(kube::Of(requests, kube::kCpu).MilliValue());
  const bool guaranteed = qos == kube::QosClass::kGuaranteed;
  if (guaranteed || IsLimited(in.pod, kube::kCpu)) SetQuota(in, limits, out);
  const int64_t kept = kube::Of(requests, kube::kMemory).Value();
  if (in.keep_memory && kept > 0) (guaranteed ? out.memory_min_bytes : out.memory_low_bytes) = kept;
  const int64_t memory = kube::Of(limits, kube::kMemory).Value();
  if ((guaranteed || IsLimited(in.pod, kube::kMemory)) && memory > 0) out.memory_bytes = memory;
  return out;
}

StatusOr<cgroup::Limits> AllPodsLimits(const AllPodsInput& in) {
  node::NodeLimits limits = in.limits;
  limits.eviction_hard.clear();
  ASSIGN_OR_RETURN(const auto node, node::ComputeNodeResources(in.machine, limits), "allocatable");
  const kube::Resources& usable = in.enforced ? node.allocatable : node.capacity;
  kube::Quantity memory = kube::Of(usable, kube::kMemory);
  cgroup::Limits out;
  out.cpu_shares = cgroup::CpuShares(kube::Of(usable, kube::kCpu).MilliValue());
  for (const node::HugePages& pages : in.machine.huge_pages) {
    const kube::Quantity amount = kube::Of(usable, pages.resource);
    out.huge_pages[pages.size] = amount.Value();
    if (in.enforced) memory += amount;
  }
  out.memory_bytes = memory.Value();
  int64_t held = 0;
  for (const auto* reserved : {&in.limits.system_reserved, &in.limits.kube_reserved}) {
    const auto pids = reserved->find("pid");
    if (pids == reserved->end() || !in.enforced) continue;
    ASSIGN_OR_RETURN(const auto amount, kube::Quantity::Parse(pids->second), "pid");
    held += amount.Value();
  }
  if (in.most_pids > held) out.pids = in.most_pids - held;
  return out;
}

StatusOr<cgroup::Limits> ReservedLimits(const std::map<std::string, std::string>& reserved,
                                        bool cpu_only) {
  cgroup::Limits out;
  for (const auto& [resource, text] : reserved) {
    ASSIGN_OR_RETURN(const auto amount, kube::Quantity::Parse(text), "{}", resource);
    if (resource == kube::kCpu) out.cpu_shares = cgroup::CpuShares(amount.MilliValue());
    if (cpu_only) continue;
    if (resource == kube::kMemory) out.memory_bytes = amount.Value();
    if (resource == "pid") out.pids = amount.Value();
  }
  return out;
}

cgroup::Limits QosCgroupLimits(int64_t millicores, const std::vector<node::HugePages>& huge_pages) {
  cgroup::Limits out;
  out.cpu_shares = cgroup::CpuShares(millicores);
  for (const node::HugePages& pages : huge_pages)
    out.huge_pages[pages.size] = cgroup::kUnboundedHugePages;
  return out;
}

}  // namespace splitlet::pod_worker
