#include "services/node-api/stats/pod_stats.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace splitlet::node_api {
namespace {

struct Index {
  explicit Index(const v1::NodeStatsReply& reply) {
    for (const auto& container : reply.containers()) containers[container.id()] = &container;
    for (const auto& pod : reply.pods()) pods[pod.uid()] = &pod;
  }
  std::map<std::string, const v1::ContainerStats*> containers;
  std::map<std::string, const v1::PodStats*> pods;
};

/// A running container uses more than zero, so zero means that the runtime reports nothing.
v1::UsageStats UsageOf(const v1::ContainerStats& container) {
  if (container.has_usage()) return container.usage();
  v1::UsageStats usage;
  if (container.cpu_usage_core_ns() > 0) usage.set_cpu_usage_core_ns(container.cpu_usage_core_ns());
  if (container.memory_working_set_bytes() > 0)
    usage.set_memory_working_set_bytes(container.memory_working_set_bytes());
  return usage;
}

std::optional<ContainerUse> UseOf(const v1::ContainerRecord& container, const Index& index,
                                  const StatsSnapshot& all) {
  const auto found = index.containers.find(container.id());
  if (container.state() != v1::ContainerRecord::RUNNING || found == index.containers.end())
    return std::nullopt;
  const v1::ContainerStats& stats = *found->second;
  ContainerUse use{.name = container.name(),
                   .id = container.id(),
                   .image = container.image(),
                   .started_at_ns = container.started_at_ns(),
                   .usage = UsageOf(stats),
                   .layer_bytes = stats.writable_layer_bytes(),
                   .layer_inodes = std::nullopt,
                   .log = std::nullopt,
                   .nano_cores = RateOf(all, container.id())};
  if (stats.has_writable_layer_inodes()) use.layer_inodes = stats.writable_layer_inodes();
  return use;
}

/// For a pod without a cgroup, available memory is the sum over its containers with limits; unknown
/// without any limit.
void AddAvailable(const PodUse& pod, v1::UsageStats& sum) {
  std::optional<uint64_t> available;
  for (const auto& container : pod.containers) {
    const v1::UsageStats& usage = container.usage;
    if (!usage.has_memory_limit_bytes() || !usage.has_memory_working_set_bytes()) continue;
    const uint64_t limit = usage.memory_limit_bytes();
    available = available.value_or(0) + limit - std::min(limit, usage.memory_working_set_bytes());
  }
  if (available) sum.set_memory_limit_bytes(sum.memory_working_set_bytes() + *available);
}

void AddUp(const PodUse& pod, v1::UsageStats& sum) {
  using U = v1::UsageStats;
  const auto add = [&pod, &sum](auto has, auto get, void (U::*set)(uint64_t)) {
    for (const ContainerUse& container : pod.containers)
      if ((container.usage.*has)()) (sum.*set)((sum.*get)() + (container.usage.*get)());
  };
  add(&U::has_cpu_usage_core_ns, &U::cpu_usage_core_ns, &U::set_cpu_usage_core_ns);
  add(&U::has_memory_usage_bytes, &U::memory_usage_bytes, &U::set_memory_usage_bytes);
  add(&U::has_memory_working_set_bytes, &U::memory_working_set_bytes,
      &U::set_memory_working_set_bytes);
  add(&U::has_memory_rss_bytes, &U::memory_rss_bytes, &U::set_memory_rss_bytes);
  add(&U::has_page_faults, &U::page_faults, &U::set_page_faults);
  add(&U::has_major_page_faults, &U::major_page_faults, &U::set_major_page_faults);
  add(&U::has_swap_usage_bytes, &U::swap_usage_bytes, &U::set_swap_usage_bytes);
  AddAvailable(pod, sum);
}

std::optional<uint64_t> SumOfRates(const PodUse& pod) {
  uint64_t sum = 0;
  for (const auto& container : pod.containers) {
    if (!container.nano_cores) return std::nullopt;
    sum += *container.nano_cores;
  }
  return sum;
}

void TakeStats(const Index& index, const StatsSnapshot& all, PodUse& pod) {
  if (const auto found = index.pods.find(pod.uid); found != index.pods.end())
    pod.stats = *found->second;
  for (ContainerUse& container : pod.containers)
    for (const auto& log : pod.stats.logs())
      if (log.container() == container.name) container.log = log;
  if (pod.stats.has_usage()) {
    pod.usage = pod.stats.usage();
    pod.nano_cores = RateOf(all, PodKey(pod.uid));
  } else {
    AddUp(pod, pod.usage);
    pod.nano_cores = SumOfRates(pod);
  }
}

}  // namespace

std::string PodKey(const std::string& uid) { return "pod/" + uid; }
std::string SystemKey(const std::string& name) { return "system/" + name; }

std::optional<uint64_t> RateOf(const StatsSnapshot& stats, const std::string& key) {
  const auto rate = stats.nano_cores.find(key);
  return rate == stats.nano_cores.end() ? std::nullopt : std::optional(rate->second);
}

v1::UsageStats UsageOfNode(const v1::NodeUsageStats& node) {
  v1::UsageStats usage;
  usage.set_cgroup("/");
  if (node.has_cpu_usage_core_ns()) usage.set_cpu_usage_core_ns(node.cpu_usage_core_ns());
  if (node.has_memory_usage_bytes()) usage.set_memory_usage_bytes(node.memory_usage_bytes());
  if (node.has_memory_working_set_bytes())
    usage.set_memory_working_set_bytes(node.memory_working_set_bytes());
  if (node.has_memory_rss_bytes()) usage.set_memory_rss_bytes(node.memory_rss_bytes());
  if (node.has_page_faults()) usage.set_page_faults(node.page_faults());
  if (node.has_major_page_faults()) usage.set_major_page_faults(node.major_page_faults());
  if (node.has_memory_total_bytes()) usage.set_memory_limit_bytes(node.memory_total_bytes());
  if (node.has_swap_usage_bytes()) usage.set_swap_usage_bytes(node.swap_usage_bytes());
  if (node.has_swap_total_bytes()) usage.set_swap_limit_bytes(node.swap_total_bytes());
  if (node.has_cpu_pressure()) *usage.mutable_cpu_pressure() = node.cpu_pressure();
  if (node.has_memory_pressure()) *usage.mutable_memory_pressure() = node.memory_pressure();
  if (node.has_io_pressure()) *usage.mutable_io_pressure() = node.io_pressure();
  return usage;
}

std::vector<PodUse> UseOfPods(const StatsSnapshot& stats, const RuntimeRecords& records) {
  const Index index(stats.reply);
  std::vector<PodUse> pods;
  for (const auto& record : records) {
    const v1::ObservedPod& seen = record->pod();
    PodUse pod{.name_space = seen.namespace_(), .name = seen.name(), .uid = seen.uid()};
    if (seen.sandboxes_size() > 0) pod.started_at_ns = seen.sandboxes(0).created_at_ns();
    for (const auto& container : seen.containers())
      if (auto use = UseOf(container, index, stats)) pod.containers.push_back(*std::move(use));
    if (pod.containers.empty()) continue;
    std::ranges::sort(pod.containers, {}, &ContainerUse::name);
    TakeStats(index, stats, pod);
    pods.push_back(std::move(pod));
  }
  std::ranges::sort(pods, {},
                    [](const PodUse& pod) { return std::tie(pod.name_space, pod.name, pod.uid); });
  return pods;
}

}  // namespace splitlet::node_api
