#include "libs/daemon/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "libs/daemon/metrics_text.h"

namespace splitlet::daemon {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

prometheus::Gauge& AddGauge(prometheus::Registry& registry, const std::string& name,
                            const std::string& help, const prometheus::Labels& labels = {}) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

prometheus::Counter& AddCounter(prometheus::Registry& registry, const std::string& name,
                                const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

MetricFamily Single(const std::string& name, const std::string& help, MetricType type,
                    double value) {
  prometheus::ClientMetric metric;
  if (type == MetricType::Counter)
    metric.counter.value = value;
  else
    metric.gauge.value = value;
  return {name, help, type, {metric}};
}

/// A counter of Prometheus takes only the difference.
void Raise(prometheus::Counter& counter, uint64_t to) {
  counter.Increment(std::max(0.0, static_cast<double>(to) - counter.Value()));
}

double OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return 0;
  return static_cast<double>(std::distance(begin(files), end(files)) -
                             1);  // without the descriptor of the listing
}

double Threads() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return error ? 0 : static_cast<double>(std::distance(begin(tasks), end(tasks)));
}

struct Memory {
  double virtual_bytes = 0, resident_bytes = 0;
};

Memory ReadMemory() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  if (!(statm >> size >> resident)) return {};
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {size * page, resident * page};
}

double CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double MaxDescriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

}  // namespace

Metrics::Metrics(prometheus::Registry& registry, const std::string& process,
                 const std::string& version)
    : build_info(AddGauge(registry, "splitlet_build_info", "1, with process and version.",
                          {{"process", process}, {"version", version}})),
      start_time(AddGauge(registry, "process_start_time_seconds",
                          "Unix time of the start of this process.")),
      restarts(AddGauge(registry, "splitlet_process_restarts",
                        "Starts of this process in this boot, less one.")),
      start_reason(prometheus::BuildGauge()
                       .Name("splitlet_process_start_reason")
                       .Help("1 for what came before this start: boot, stopped or died.")
                       .Register(registry)),
      config_ignored(prometheus::BuildGauge()
                         .Name("splitlet_config_ignored_fields")
                         .Help("1 for each field that the configuration file sets without effect.")
                         .Register(registry)),
      ready(AddGauge(registry, "splitlet_process_ready", "1 when the process can do its work.")),
      bus_connected(AddGauge(registry, "splitlet_bus_connected", "1 while connected to the bus.")),
      loop_lag(prometheus::BuildHistogram()
                   .Name("splitlet_loop_lag_seconds")
                   .Help("How late tasks of the event loop run.")
                   .Register(registry)
                   .Add({}, prometheus::Histogram::BucketBoundaries{.0001, .001, .01, .1, 1, 10})),
      loop_idle(AddGauge(registry, "splitlet_loop_last_turn_age_seconds",
                         "Since the event loop last turned.")),
      pool_threads(AddGauge(registry, "splitlet_pool_threads", "Threads for blocking work.")),
      pool_busy(
          AddGauge(registry, "splitlet_pool_busy_threads", "Threads that run blocking work.")),
      pool_waiting(
          AddGauge(registry, "splitlet_pool_waiting_strands", "Strands with work and no thread.")),
      events_sent(
          AddCounter(registry, "splitlet_events_sent_total", "Kubernetes events taken by status.")),
      events_dropped(AddCounter(registry, "splitlet_events_dropped_total",
                                "Kubernetes events that were lost.")),
      log_lines(prometheus::BuildCounter()
                    .Name("splitlet_log_lines_total")
                    .Help("Lines logged, by level.")
                    .Register(registry)),
      log_dropped(AddCounter(registry, "splitlet_log_dropped_total",
                             "Log lines that were dropped because their reader was too slow.")),
      faults_armed(AddGauge(registry, "splitlet_fail_points_armed",
                            "Fail points that have a term other than off.")),
      faults_locked(AddGauge(registry, "splitlet_fail_points_locked",
                             "1 when no fail point can be set any more.")),
      fault_hits(prometheus::BuildCounter()
                     .Name("splitlet_fail_point_hits_total")
                     .Help("How often the term of a fail point acted.")
                     .Register(registry)) {
  build_info.Set(1);
}

void Metrics::Update(const StderrSink& log, const FailPoints& points) {
  for (const auto& [level, name] : kLogLevels)
    Raise(log_lines.Add({{"level", std::string(name)}}), log.written(level));
  Raise(log_dropped, log.dropped());
  double armed = 0;
  for (const FailPoints::Info& point : points.List()) {
    if (point.term != "off") ++armed;
    if (point.hits > 0) Raise(fault_hits.Add({{"point", point.name}}), point.hits);
  }
  faults_armed.Set(armed);
  faults_locked.Set(points.locked() ? 1 : 0);
}

std::vector<MetricFamily> ProcCollector::Collect() const {
  const Memory memory = ReadMemory();
  return {
      Single("process_cpu_seconds_total", "User and system CPU time.", MetricType::Counter,
             CpuSeconds()),
      Single("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
             memory.resident_bytes),
      Single("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge,
             memory.virtual_bytes),
      Single("process_open_fds", "Open file descriptors.", MetricType::Gauge, OpenDescriptors()),
      Single("process_max_fds", "Limit of open file descriptors.", MetricType::Gauge,
             MaxDescriptors()),
      Single("process_threads", "Threads of the process.", MetricType::Gauge, Threads()),
  };
}

std::string Scrape(const prometheus::Registry& registry) {
  std::vector<MetricFamily> families = registry.Collect();
  for (MetricFamily& family : ProcCollector().Collect()) families.push_back(std::move(family));
  return MetricsText(families);
}

}  // namespace splitlet::daemon
