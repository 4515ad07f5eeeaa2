#include "services/pod-worker/runtime_config/resources.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/resources.pb.h"
#include "libs/kube/quantity.h"
#include "libs/kube/resources.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::pod_worker {

namespace {

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

std::optional<int64_t> LimitWithPod(const kube::Pod& pod, const kube::Container& container,
                                    const std::string& name) {
  const bool milli = IsCpu(name);
  const auto own = LimitOf(container.resources(), name, milli);
  return own ? own : LimitOf(pod.spec().resources(), name, milli);
}

void SetCpu(std::optional<int64_t> request, int64_t limit, const NodeInfo& node,
            runtime::v1::LinuxContainerResources& out) {
  out.set_cpu_shares(CpuShares(request.value_or(limit)));
  if (!node.cpu_quota) return;
  out.set_cpu_period(node.cpu_period_us);
  out.set_cpu_quota(CpuQuota(limit, node.cpu_period_us));
}

/// Of the whole pod; unset: no container and no pod resources name it.
std::optional<int64_t> Sum(const StatusOr<kube::Resources>& resources, std::string_view name) {
  if (!resources.ok()) return std::nullopt;
  const auto found = resources->find(std::string(name));
  if (found == resources->end()) return std::nullopt;
  return name == kube::kCpu ? found->second.MilliValue() : found->second.Value();
}

/// Each container's share of the pod's request beyond the sum of its containers.
int64_t MemoryShare(const kube::Pod& pod) {
  const auto whole = RequestOf(pod.spec().resources(), "memory", false);
  if (!whole) return 0;
  const int64_t requested = Sum(kube::ContainersRequests(pod), kube::kMemory).value_or(0);
  const int count = pod.spec().containers_size() + pod.spec().init_containers_size();
  return std::max<int64_t>(*whole - requested, 0) / std::max(count, 1);
}

/// The container's request plus its MemoryShare.
int64_t MemoryRequest(const kube::Pod& pod, const kube::Container& container) {
  const int64_t own = RequestOf(container.resources(), "memory", false)
                          .value_or(LimitOf(container.resources(), "memory", false).value_or(0));
  return own + MemoryShare(pod);
}

int64_t ScoreOf(int64_t request, const NodeInfo& node) {
  return 1000 - 1000 * std::min(request, node.memory_bytes) / node.memory_bytes;
}

/// A sidecar has at most the score of the containers that it serves, so it is not killed first.
int64_t BurstableScore(const kube::Pod& pod, const kube::Container& container,
                       const NodeInfo& node) {
  const int64_t score = ScoreOf(MemoryRequest(pod, container), node);
  const auto& inits = pod.spec().init_containers();
  const bool sidecar =
      std::any_of(inits.begin(), inits.end(), [&container](const kube::Container& init) {
        return init.name() == container.name() && kube::IsSidecar(init);
      });
  if (!sidecar || pod.spec().containers().empty()) return score;
  int64_t least = node.memory_bytes;
  for (const auto& regular : pod.spec().containers())
    least = std::min(least, RequestOf(regular.resources(), "memory", false).value_or(0));
  return std::min(score, ScoreOf(least + MemoryShare(pod), node));
}

void SetHugePages(const kube::Pod& pod, const kube::Container& container, const NodeInfo& node,
                  runtime::v1::LinuxContainerResources& out) {
  for (const node::HugePages& pages : node.huge_pages) {
    auto& limit = *out.add_hugepage_limits();
    limit.set_page_size(pages.size);
    limit.set_limit(
        static_cast<uint64_t>(LimitWithPod(pod, container, pages.resource).value_or(0)));
  }
}

void SetOomGroup(const NodeInfo& node, runtime::v1::LinuxContainerResources& out) {
  if (node.cgroups.oom_group) (*out.mutable_unified())["memory.oom.group"] = "1";
}

/// memory.high: usage above it throttles the container before the limit kills it. Whole pages; 0:
/// no throttling.
int64_t ThrottledAbove(int64_t request, int64_t limit, const NodeInfo& node) {
  const int64_t most = limit > 0 ? limit : node.allocatable.memory_bytes;
  if (request == limit || most <= 0) return 0;
  const double above = static_cast<double>(request) +
                       node.memory_qos.throttling_factor * static_cast<double>(most - request);
  const auto page = static_cast<double>(node.memory_qos.page_bytes);
  const int64_t bytes = static_cast<int64_t>(std::floor(above / page)) * node.memory_qos.page_bytes;
  return bytes > request ? bytes : 0;
}

void SetMemoryQos(const kube::Pod& pod, const kube::Container& container, const NodeInfo& node,
                  runtime::v1::LinuxContainerResources& out) {
  if (!node.memory_qos.on) return;
  const int64_t limit = LimitOf(container.resources(), "memory", false).value_or(0);
  const int64_t request = RequestOf(container.resources(), "memory", false).value_or(limit);
  const auto qos = kube::ComputeQos(pod);
  if (node.memory_qos.keep && qos.ok() && request > 0) {
    const bool guaranteed = *qos == kube::QosClass::kGuaranteed;
    (*out.mutable_unified())[guaranteed ? "memory.min" : "memory.low"] = std::to_string(request);
  }
  if (const int64_t high = ThrottledAbove(request, limit, node); high > 0)
    (*out.mutable_unified())["memory.high"] = std::to_string(high);
}

/// The node's swap times the container's part of the node's memory. Only for containers of
/// Burstable pods that are not critical and whose memory request is below their limit.
int64_t SwapOf(const kube::Pod& pod, const kube::Container& container, const NodeInfo& node) {
  const auto qos = kube::ComputeQos(pod);
  if (!node.cgroups.limited_swap || node.memory_bytes <= 0 || kube::IsCritical(pod) || !qos.ok() ||
      *qos != kube::QosClass::kBurstable)
    return 0;
  const auto request = RequestOf(container.resources(), "memory", false);
  const auto limit = LimitOf(container.resources(), "memory", false);
  if (!request || *request <= 0 || request == limit) return 0;
  const double part = static_cast<double>(*request) / static_cast<double>(node.memory_bytes);
  return static_cast<int64_t>(part * static_cast<double>(node.swap_bytes));
}

void SetSwap(const kube::Pod& pod, const kube::Container& container, const NodeInfo& node,
             runtime::v1::LinuxContainerResources& out) {
  if (!node.cgroups.swap) return;
  if (node.cgroups.v2) {
    (*out.mutable_unified())["memory.swap.max"] = std::to_string(SwapOf(pod, container, node));
  } else {
    out.set_memory_swap_limit_in_bytes(out.memory_limit_in_bytes());
  }
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

int64_t OomScoreAdj(const kube::Pod& pod, const kube::Container& container, const NodeInfo& node) {
  if (kube::IsCritical(pod) && pod.spec().priority_class_name() == "system-node-critical")
    return kGuaranteedOom;
  const auto qos = kube::ComputeQos(pod);
  if (qos.ok() && *qos == kube::QosClass::kGuaranteed) return kGuaranteedOom;
  if (qos.ok() && *qos == kube::QosClass::kBestEffort) return kBestEffortOom;
  if (node.memory_bytes <= 0) return kBestEffortOom - 1;
  return std::clamp<int64_t>(BurstableScore(pod, container, node), 1000 + kGuaranteedOom,
                             kBestEffortOom - 1);
}

void SetContainerResources(const kube::Pod& pod, const kube::Container& container,
                           const NodeInfo& node, runtime::v1::LinuxContainerResources& out) {
  SetCpu(RequestOf(container.resources(), "cpu", true),
         LimitWithPod(pod, container, "cpu").value_or(0), node, out);
  out.set_memory_limit_in_bytes(LimitWithPod(pod, container, "memory").value_or(0));
  out.set_oom_score_adj(OomScoreAdj(pod, container, node));
  SetHugePages(pod, container, node, out);
  SetOomGroup(node, out);
  SetSwap(pod, container, node, out);
  SetMemoryQos(pod, container, node, out);
}

void SetPodResources(const kube::Pod& pod, const NodeInfo& node,
                     runtime::v1::PodSandboxConfig& out) {
  kube::Pod bare = pod;
  bare.mutable_spec()->clear_overhead();
  const auto limits = kube::PodLimits(bare);
  auto& resources = *out.mutable_linux()->mutable_resources();
  SetCpu(Sum(kube::PodRequests(bare), kube::kCpu), Sum(limits, kube::kCpu).value_or(0), node,
         resources);
  resources.set_memory_limit_in_bytes(Sum(limits, kube::kMemory).value_or(0));
  SetOomGroup(node, resources);
  auto& overhead = *out.mutable_linux()->mutable_overhead();
  if (pod.spec().overhead().empty()) return;
  const auto cpu = Amount(pod.spec().overhead(), "cpu", true);
  SetCpu(cpu, cpu.value_or(0), node, overhead);
  overhead.set_memory_limit_in_bytes(Amount(pod.spec().overhead(), "memory", false).value_or(0));
  SetOomGroup(node, overhead);
}

}  // namespace splitlet::pod_worker
