#include "services/node-api/metrics/resource.h"

#include <utility>

#include "libs/daemon/metrics_text.h"

namespace splitlet::node_api {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

class MetricsWriter {
 public:
  /// The time of each sample, in milliseconds.
  explicit MetricsWriter(int64_t at_ns) : at_(fmt::format(" {}", at_ns / 1'000'000)) {}
  void Family(const char* name, const char* type, const char* help) {
    name_ = name;
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void Sample(const Labels& labels, double value, bool timed = true) {
    out_ += name_;
    for (size_t i = 0; i < labels.size(); ++i)
      out_ += fmt::format("{}{}=\"{}\"", i == 0 ? "{" : ",", labels[i].first,
                          Escaped(labels[i].second));
    out_ += fmt::format("{} {}{}\n", labels.empty() ? "" : "}", daemon::NumberText(value),
                        timed ? at_ : "");
  }
  std::string Take() { return std::move(out_); }

 private:
  const std::string at_;
  std::string name_, out_;
};

double Seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

void WriteContainers(MetricsWriter& out, const std::vector<PodUse>& pods, auto value) {
  for (const PodUse& pod : pods)
    for (const ContainerUse& container : pod.containers)
      out.Sample({{"container", container.name}, {"namespace", pod.name_space}, {"pod", pod.name}},
                 value(container));
}

void WritePods(MetricsWriter& out, const std::vector<PodUse>& pods, auto value) {
  for (const PodUse& pod : pods)
    out.Sample({{"namespace", pod.name_space}, {"pod", pod.name}}, value(pod));
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
        out.Sample(
            {{"container", container.name}, {"namespace", pod.name_space}, {"pod", pod.name}},
            static_cast<double>(container.started_at_ns) / 1e9, false);
}

Labels CadvisorLabels(const PodUse& pod, const ContainerUse& container) {
  return {{"container", container.name}, {"id", ""},
          {"image", container.image},    {"name", container.id},
          {"namespace", pod.name_space}, {"pod", pod.name}};
}

struct Series {
  const char* name;
  const char* type;
  const char* help;
  double (*value)(const ContainerUse& container);
  std::pair<const char*, const char*> label;  // beside those of all
};

constexpr Series kSeries[] = {
    {"container_cpu_usage_seconds_total",
     "counter",
     "Cumulative cpu time consumed in seconds.",
     [](const ContainerUse& use) { return Seconds(use.cpu_ns); },
     {"cpu", "total"}},
    {"container_fs_usage_bytes",
     "gauge",
     "Number of bytes that are consumed by the container on this filesystem.",
     [](const ContainerUse& use) { return static_cast<double>(use.layer_bytes); },
     {"device", ""}},
    {"container_memory_working_set_bytes",
     "gauge",
     "Current working set in bytes.",
     [](const ContainerUse& use) { return static_cast<double>(use.working_set); },
     {}},
    {"container_start_time_seconds",
     "gauge",
     "Start time of the container since unix epoch in seconds.",
     [](const ContainerUse& use) { return static_cast<double>(use.started_at_ns) / 1e9; },
     {}},
};

}  // namespace

std::string ResourceMetrics(const Figures& figures, const std::vector<PodUse>& pods) {
  const v1::NodeFigures& node = figures.reply.node();
  MetricsWriter out(figures.reply.at_wall_ns());
  out.Family("container_cpu_usage_seconds_total", "counter",
             "Cumulative cpu time consumed by the container in core-seconds");
  WriteContainers(out, pods, [](const ContainerUse& use) { return Seconds(use.cpu_ns); });
  out.Family("container_memory_working_set_bytes", "gauge",
             "Current working set of the container in bytes");
  WriteContainers(out, pods,
                  [](const ContainerUse& use) { return static_cast<double>(use.working_set); });
  WriteStarts(out, pods);
  if (node.has_cpu_usage_core_ns()) {
    out.Family("node_cpu_usage_seconds_total", "counter",
               "Cumulative cpu time consumed by the node in core-seconds");
    out.Sample({}, Seconds(node.cpu_usage_core_ns()));
  }
  if (node.has_memory_working_set_bytes()) {
    out.Family("node_memory_working_set_bytes", "gauge",
               "Current working set of the node in bytes");
    out.Sample({}, static_cast<double>(node.memory_working_set_bytes()));
  }
  out.Family("pod_cpu_usage_seconds_total", "counter",
             "Cumulative cpu time consumed by the pod in core-seconds");
  WritePods(out, pods, [](const PodUse& use) { return Seconds(use.cpu_ns()); });
  out.Family("pod_memory_working_set_bytes", "gauge", "Current working set of the pod in bytes");
  WritePods(out, pods, [](const PodUse& use) { return static_cast<double>(use.working_set()); });
  WriteError(out, false);
  return out.Take();
}

std::string ResourceError() {
  MetricsWriter out(0);
  WriteError(out, true);
  return out.Take();
}

std::string CadvisorMetrics(const Figures& figures, const std::vector<PodUse>& pods,
                            const MachineLabels& machine) {
  MetricsWriter out(figures.reply.at_wall_ns());
  for (const Series& series : kSeries) {
    out.Family(series.name, series.type, series.help);
    for (const PodUse& pod : pods) {
      for (const ContainerUse& container : pod.containers) {
        Labels labels = CadvisorLabels(pod, container);
        if (series.label.first != nullptr)
          labels.emplace_back(series.label.first, series.label.second);
        out.Sample(labels, series.value(container));
      }
    }
  }
  const Labels labels = {{"boot_id", machine.boot_id},
                         {"machine_id", machine.machine_id},
                         {"system_uuid", machine.system_uuid}};
  if (machine.cpus > 0) {
    out.Family("machine_cpu_cores", "gauge", "Number of logical CPU cores.");
    out.Sample(labels, static_cast<double>(machine.cpus));
  }
  if (figures.reply.node().has_memory_total_bytes()) {
    out.Family("machine_memory_bytes", "gauge", "Amount of memory installed on the machine.");
    out.Sample(labels, static_cast<double>(figures.reply.node().memory_total_bytes()));
  }
  return out.Take();
}

}  // namespace splitlet::node_api
