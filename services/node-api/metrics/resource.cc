#include "services/node-api/metrics/resource.h"

#include "services/node-api/metrics/metrics_writer.h"

namespace splitlet::node_api {
namespace {

using Usage = v1::UsageStats;
using Value = std::optional<double> (*)(const Usage& usage);

constexpr Value kCpu = [](const Usage& usage) {
  return usage.has_cpu_usage_core_ns() ? std::optional(SecondsOf(usage.cpu_usage_core_ns()))
                                       : std::nullopt;
};
constexpr Value kMemory = [](const Usage& usage) {
  return usage.has_memory_working_set_bytes()
             ? std::optional(static_cast<double>(usage.memory_working_set_bytes()))
             : std::nullopt;
};
constexpr Value kSwap = [](const Usage& usage) {
  return usage.has_swap_usage_bytes() ? std::optional(static_cast<double>(usage.swap_usage_bytes()))
                                      : std::nullopt;
};
constexpr Value kSwapLimit = [](const Usage& usage) {
  return usage.has_swap_usage_bytes() && usage.has_swap_limit_bytes()
             ? std::optional(static_cast<double>(usage.swap_limit_bytes()))
             : std::nullopt;
};

MetricLabels LabelsOf(const PodUse& pod, const ContainerUse& container) {
  return {{"container", container.name}, {"namespace", pod.name_space}, {"pod", pod.name}};
}

void WriteContainers(MetricsWriter& out, const std::vector<PodUse>& pods, Value value) {
  for (const PodUse& pod : pods)
    for (const ContainerUse& container : pod.containers)
      if (const auto number = value(container.usage)) out.Sample(LabelsOf(pod, container), *number);
}

void WritePods(MetricsWriter& out, const std::vector<PodUse>& pods, Value value) {
  for (const PodUse& pod : pods)
    if (const auto number = value(pod.usage))
      out.Sample({{"namespace", pod.name_space}, {"pod", pod.name}}, *number);
}

void WriteError(MetricsWriter& out, bool error) {
  out.Family("resource_scrape_error", "gauge",
             "1 if there was an error while getting container metrics, 0 otherwise");
  out.Sample({}, error ? 1 : 0, false);
}

void WriteStarts(MetricsWriter& out, const std::vector<PodUse>& pods) {
  out.Family("container_start_time_seconds", "gauge",
             "Start time of the container since unix epoch in seconds");
  for (const PodUse& pod : pods)
    for (const ContainerUse& container : pod.containers)
      if (container.started_at_ns > 0)
        out.Sample(LabelsOf(pod, container), static_cast<double>(container.started_at_ns) / 1e9,
                   false);
}

struct ResourceFamily {
  const char* name;
  const char* type;
  const char* help;
  Value value;
};
constexpr ResourceFamily kContainers[] = {
    {"container_cpu_usage_seconds_total", "counter",
     "Cumulative cpu time consumed by the container in core-seconds", kCpu},
    {"container_memory_working_set_bytes", "gauge", "Current working set of the container in bytes",
     kMemory},
    {"container_swap_limit_bytes", "gauge", "Current amount of the container swap limit in bytes",
     kSwapLimit},
    {"container_swap_usage_bytes", "gauge", "Current amount of the container swap usage in bytes",
     kSwap},
};
constexpr ResourceFamily kNode[] = {
    {"node_cpu_usage_seconds_total", "counter",
     "Cumulative cpu time consumed by the node in core-seconds", kCpu},
    {"node_memory_working_set_bytes", "gauge", "Current working set of the node in bytes", kMemory},
    {"node_swap_usage_bytes", "gauge", "Current swap usage of the node in bytes", kSwap},
};
constexpr ResourceFamily kPods[] = {
    {"pod_cpu_usage_seconds_total", "counter",
     "Cumulative cpu time consumed by the pod in core-seconds", kCpu},
    {"pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes", kMemory},
    {"pod_swap_usage_bytes", "gauge", "Current amount of the pod swap usage in bytes", kSwap},
};

}  // namespace

std::string ResourceMetrics(const StatsSnapshot& stats, const std::vector<PodUse>& pods) {
  MetricsWriter out(stats.reply.at_wall_ns());
  for (const ResourceFamily& family : kContainers) {
    out.Family(family.name, family.type, family.help);
    WriteContainers(out, pods, family.value);
  }
  WriteStarts(out, pods);
  const Usage node = UsageOfNode(stats.reply.node());
  for (const ResourceFamily& family : kNode) {
    out.Family(family.name, family.type, family.help);
    if (const auto number = family.value(node)) out.Sample({}, *number);
  }
  for (const ResourceFamily& family : kPods) {
    out.Family(family.name, family.type, family.help);
    WritePods(out, pods, family.value);
  }
  WriteError(out, false);
  return out.Take();
}

std::string ResourceError() {
  MetricsWriter out(0);
  WriteError(out, true);
  return out.Take();
}

}  // namespace splitlet::node_api
