#include "services/node-api/metrics/cadvisor.h"

#include <algorithm>
#include <utility>

#include "services/node-api/metrics/metrics_writer.h"

namespace splitlet::node_api {
namespace {

using CadvisorUsage = v1::UsageStats;

/// A cgroup: of a container, a pod, all pods, or the machine.
struct Subject {
  MetricLabels labels;
  const CadvisorUsage* usage = nullptr;
  int64_t started_at_ns = 0;
};

/// Every label; empty if it does not apply.
MetricLabels LabelsOf(const PodUse* pod, const ContainerUse* container,
                      const CadvisorUsage& usage) {
  return {{"container", container == nullptr ? "" : container->name},
          {"id", usage.cgroup()},
          {"image", container == nullptr ? "" : container->image},
          {"name", container == nullptr ? "" : container->id},
          {"namespace", pod == nullptr ? "" : pod->name_space},
          {"pod", pod == nullptr ? "" : pod->name}};
}

MetricLabels With(MetricLabels labels, const char* name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

/// A pod without a cgroup has no series, because a sum is not the usage of a cgroup.
std::vector<Subject> SubjectsOf(const v1::NodeStatsReply& reply, const CadvisorUsage& node,
                                const std::vector<PodUse>& pods) {
  std::vector<Subject> all;
  all.push_back({LabelsOf(nullptr, nullptr, node), &node, reply.node().booted_at_wall_ns()});
  for (const auto& system : reply.system_containers()) {
    const CadvisorUsage& usage = system.usage();
    const bool twice = std::ranges::any_of(
        all, [&usage](const Subject& known) { return known.usage->cgroup() == usage.cgroup(); });
    if (!twice)
      all.push_back({LabelsOf(nullptr, nullptr, usage), &usage, system.started_at_wall_ns()});
  }
  for (const PodUse& pod : pods) {
    if (!pod.usage.cgroup().empty())
      all.push_back({LabelsOf(&pod, nullptr, pod.usage), &pod.usage, pod.started_at_ns});
    for (const ContainerUse& container : pod.containers)
      all.push_back(
          {LabelsOf(&pod, &container, container.usage), &container.usage, container.started_at_ns});
  }
  return all;
}

struct Series {
  const char* name;
  const char* type;
  const char* help;
  bool (CadvisorUsage::*has)() const;
  uint64_t (CadvisorUsage::*get)() const;
  double unit = 1;
  std::pair<const char*, const char*> label = {};  // labels in addition to the common ones
  bool zero_without = false;                       // 0 for objects without a limit
};

constexpr double kNanos = 1e-9;

constexpr Series kSeries[] = {
    {.name = "container_cpu_cfs_burst_periods_total",
     .type = "counter",
     .help = "Number of periods when burst occurs.",
     .has = &CadvisorUsage::has_cpu_burst_periods,
     .get = &CadvisorUsage::cpu_burst_periods},
    {.name = "container_cpu_cfs_burst_seconds_total",
     .type = "counter",
     .help = "Total time duration when burst occurs.",
     .has = &CadvisorUsage::has_cpu_burst_ns,
     .get = &CadvisorUsage::cpu_burst_ns,
     .unit = kNanos},
    {.name = "container_cpu_cfs_periods_total",
     .type = "counter",
     .help = "Number of elapsed enforcement period intervals.",
     .has = &CadvisorUsage::has_cpu_periods,
     .get = &CadvisorUsage::cpu_periods},
    {.name = "container_cpu_cfs_throttled_periods_total",
     .type = "counter",
     .help = "Number of throttled period intervals.",
     .has = &CadvisorUsage::has_cpu_throttled_periods,
     .get = &CadvisorUsage::cpu_throttled_periods},
    {.name = "container_cpu_cfs_throttled_seconds_total",
     .type = "counter",
     .help = "Total time duration the container has been throttled.",
     .has = &CadvisorUsage::has_cpu_throttled_ns,
     .get = &CadvisorUsage::cpu_throttled_ns,
     .unit = kNanos},
    {.name = "container_cpu_system_seconds_total",
     .type = "counter",
     .help = "Cumulative system cpu time consumed in seconds.",
     .has = &CadvisorUsage::has_cpu_system_ns,
     .get = &CadvisorUsage::cpu_system_ns,
     .unit = kNanos},
    {.name = "container_cpu_usage_seconds_total",
     .type = "counter",
     .help = "Cumulative cpu time consumed in seconds.",
     .has = &CadvisorUsage::has_cpu_usage_core_ns,
     .get = &CadvisorUsage::cpu_usage_core_ns,
     .unit = kNanos,
     .label = {"cpu", "total"}},
    {.name = "container_cpu_user_seconds_total",
     .type = "counter",
     .help = "Cumulative user cpu time consumed in seconds.",
     .has = &CadvisorUsage::has_cpu_user_ns,
     .get = &CadvisorUsage::cpu_user_ns,
     .unit = kNanos},
    {.name = "container_file_descriptors",
     .type = "gauge",
     .help = "Number of open file descriptors for the container.",
     .has = &CadvisorUsage::has_open_files,
     .get = &CadvisorUsage::open_files},
    {.name = "container_memory_cache",
     .type = "gauge",
     .help = "Number of bytes of page cache memory.",
     .has = &CadvisorUsage::has_memory_cache_bytes,
     .get = &CadvisorUsage::memory_cache_bytes},
    {.name = "container_memory_failcnt",
     .type = "counter",
     .help = "Number of memory usage hits limits",
     .has = &CadvisorUsage::has_memory_limit_hits,
     .get = &CadvisorUsage::memory_limit_hits},
    {.name = "container_memory_kernel_usage",
     .type = "gauge",
     .help = "Size of kernel memory allocated in bytes.",
     .has = &CadvisorUsage::has_memory_kernel_bytes,
     .get = &CadvisorUsage::memory_kernel_bytes},
    {.name = "container_memory_mapped_file",
     .type = "gauge",
     .help = "Size of memory mapped files in bytes.",
     .has = &CadvisorUsage::has_memory_mapped_bytes,
     .get = &CadvisorUsage::memory_mapped_bytes},
    {.name = "container_memory_max_usage_bytes",
     .type = "gauge",
     .help = "Maximum memory usage recorded in bytes",
     .has = &CadvisorUsage::has_memory_max_usage_bytes,
     .get = &CadvisorUsage::memory_max_usage_bytes},
    {.name = "container_memory_rss",
     .type = "gauge",
     .help = "Size of RSS in bytes.",
     .has = &CadvisorUsage::has_memory_rss_bytes,
     .get = &CadvisorUsage::memory_rss_bytes},
    {.name = "container_memory_swap",
     .type = "gauge",
     .help = "Container swap usage in bytes.",
     .has = &CadvisorUsage::has_swap_usage_bytes,
     .get = &CadvisorUsage::swap_usage_bytes},
    {.name = "container_memory_total_active_file_bytes",
     .type = "gauge",
     .help = "Current total active file in bytes.",
     .has = &CadvisorUsage::has_memory_active_file_bytes,
     .get = &CadvisorUsage::memory_active_file_bytes},
    {.name = "container_memory_total_inactive_file_bytes",
     .type = "gauge",
     .help = "Current total inactive file in bytes.",
     .has = &CadvisorUsage::has_memory_inactive_file_bytes,
     .get = &CadvisorUsage::memory_inactive_file_bytes},
    {.name = "container_memory_usage_bytes",
     .type = "gauge",
     .help =
         "Current memory usage in bytes, including all memory regardless of when it was accessed",
     .has = &CadvisorUsage::has_memory_usage_bytes,
     .get = &CadvisorUsage::memory_usage_bytes},
    {.name = "container_memory_working_set_bytes",
     .type = "gauge",
     .help = "Current working set in bytes.",
     .has = &CadvisorUsage::has_memory_working_set_bytes,
     .get = &CadvisorUsage::memory_working_set_bytes},
    {.name = "container_oom_events_total",
     .type = "counter",
     .help = "Count of out of memory events observed for the container",
     .has = &CadvisorUsage::has_oom_kills,
     .get = &CadvisorUsage::oom_kills},
    {.name = "container_processes",
     .type = "gauge",
     .help = "Number of processes running inside the container.",
     .has = &CadvisorUsage::has_processes,
     .get = &CadvisorUsage::processes},
    {.name = "container_sockets",
     .type = "gauge",
     .help = "Number of open sockets for the container.",
     .has = &CadvisorUsage::has_sockets,
     .get = &CadvisorUsage::sockets},
    {.name = "container_spec_cpu_period",
     .type = "gauge",
     .help = "CPU period of the container.",
     .has = &CadvisorUsage::has_cpu_period_us,
     .get = &CadvisorUsage::cpu_period_us},
    {.name = "container_spec_cpu_quota",
     .type = "gauge",
     .help = "CPU quota of the container.",
     .has = &CadvisorUsage::has_cpu_quota_us,
     .get = &CadvisorUsage::cpu_quota_us},
    {.name = "container_spec_cpu_shares",
     .type = "gauge",
     .help = "CPU share of the container.",
     .has = &CadvisorUsage::has_cpu_shares,
     .get = &CadvisorUsage::cpu_shares},
    {.name = "container_spec_memory_limit_bytes",
     .type = "gauge",
     .help = "Memory limit for the container.",
     .has = &CadvisorUsage::has_memory_limit_bytes,
     .get = &CadvisorUsage::memory_limit_bytes,
     .unit = 1,
     .zero_without = true},
    {.name = "container_spec_memory_reservation_limit_bytes",
     .type = "gauge",
     .help = "Memory reservation limit for the container.",
     .has = &CadvisorUsage::has_memory_reservation_bytes,
     .get = &CadvisorUsage::memory_reservation_bytes},
    {.name = "container_spec_memory_swap_limit_bytes",
     .type = "gauge",
     .help = "Memory swap limit for the container.",
     .has = &CadvisorUsage::has_swap_limit_bytes,
     .get = &CadvisorUsage::swap_limit_bytes,
     .unit = 1,
     .zero_without = true},
    {.name = "container_threads",
     .type = "gauge",
     .help = "Number of threads running inside the container.",
     .has = &CadvisorUsage::has_threads,
     .get = &CadvisorUsage::threads},
    {.name = "container_threads_max",
     .type = "gauge",
     .help = "Maximum number of threads allowed inside the container, infinity if value is zero",
     .has = &CadvisorUsage::has_max_threads,
     .get = &CadvisorUsage::max_threads},
};

void WriteSeries(MetricsWriter& out, const std::vector<Subject>& subjects) {
  for (const Series& series : kSeries) {
    out.Family(series.name, series.type, series.help);
    for (const Subject& subject : subjects) {
      const CadvisorUsage& usage = *subject.usage;
      if (!(usage.*series.has)() && !(series.zero_without && !usage.cgroup().empty())) continue;
      const double value = static_cast<double>((usage.*series.get)()) * series.unit;
      out.Sample(series.label.first == nullptr
                     ? subject.labels
                     : With(subject.labels, series.label.first, series.label.second),
                 value);
    }
  }
}

void WriteFaults(MetricsWriter& out, const std::vector<Subject>& subjects) {
  out.Family("container_memory_failures_total", "counter",
             "Cumulative count of memory allocation failures.");
  const auto write = [&out](const Subject& subject, const char* type, uint64_t value) {
    MetricLabels labels = With(subject.labels, "failure_type", type);
    out.Sample(With(std::move(labels), "scope", "hierarchy"), static_cast<double>(value));
  };
  for (const Subject& subject : subjects) {
    if (subject.usage->has_page_faults()) write(subject, "pgfault", subject.usage->page_faults());
    if (subject.usage->has_major_page_faults())
      write(subject, "pgmajfault", subject.usage->major_page_faults());
  }
}

void WriteUlimits(MetricsWriter& out, const std::vector<Subject>& subjects) {
  out.Family("container_ulimits_soft", "gauge",
             "Soft ulimit values for the container root process. Unlimited if -1, except priority "
             "and nice");
  for (const Subject& subject : subjects)
    if (subject.usage->has_max_open_files())
      out.Sample(With(subject.labels, "ulimit", "max_open_files"),
                 static_cast<double>(subject.usage->max_open_files()));
}

struct Pressure {
  const char* name;
  const char* help;
  bool (CadvisorUsage::*has)() const;
  const v1::PressureStats& (CadvisorUsage::*get)() const;
  bool all;  // true: all tasks stalled; false: some
};
constexpr Pressure kPressure[] = {
    {.name = "container_pressure_cpu_stalled_seconds_total",
     .help =
         "Total time duration no tasks in the container could make progress due to CPU congestion.",
     .has = &CadvisorUsage::has_cpu_pressure,
     .get = &CadvisorUsage::cpu_pressure,
     .all = true},
    {.name = "container_pressure_cpu_waiting_seconds_total",
     .help = "Total time duration tasks in the container have waited due to CPU congestion.",
     .has = &CadvisorUsage::has_cpu_pressure,
     .get = &CadvisorUsage::cpu_pressure,
     .all = false},
    {.name = "container_pressure_io_stalled_seconds_total",
     .help =
         "Total time duration no tasks in the container could make progress due to IO congestion.",
     .has = &CadvisorUsage::has_io_pressure,
     .get = &CadvisorUsage::io_pressure,
     .all = true},
    {.name = "container_pressure_io_waiting_seconds_total",
     .help = "Total time duration tasks in the container have waited due to IO congestion.",
     .has = &CadvisorUsage::has_io_pressure,
     .get = &CadvisorUsage::io_pressure,
     .all = false},
    {.name = "container_pressure_memory_stalled_seconds_total",
     .help = "Total time duration no tasks in the container could make progress due to memory "
             "congestion.",
     .has = &CadvisorUsage::has_memory_pressure,
     .get = &CadvisorUsage::memory_pressure,
     .all = true},
    {.name = "container_pressure_memory_waiting_seconds_total",
     .help = "Total time duration tasks in the container have waited due to memory congestion.",
     .has = &CadvisorUsage::has_memory_pressure,
     .get = &CadvisorUsage::memory_pressure,
     .all = false},
};

void WritePressure(MetricsWriter& out, const std::vector<Subject>& subjects) {
  for (const Pressure& pressure : kPressure) {
    out.Family(pressure.name, "counter", pressure.help);
    for (const Subject& subject : subjects) {
      if (!(subject.usage->*pressure.has)()) continue;
      const v1::PressureStats& stats = (subject.usage->*pressure.get)();
      const uint64_t us = pressure.all ? stats.full().total_us() : stats.some().total_us();
      out.Sample(subject.labels, static_cast<double>(us) / 1e6);
    }
  }
}

void WriteTimes(MetricsWriter& out, const std::vector<Subject>& subjects, int64_t at_ns) {
  out.Family("container_last_seen", "gauge", "Last time a container was seen by the exporter");
  for (const Subject& subject : subjects)
    out.Sample(subject.labels, static_cast<double>(at_ns / 1'000'000'000));
  out.Family("container_start_time_seconds", "gauge",
             "Start time of the container since unix epoch in seconds.");
  for (const Subject& subject : subjects)
    if (subject.started_at_ns > 0)
      out.Sample(subject.labels, static_cast<double>(subject.started_at_ns) / 1e9);
}

struct Device {
  const char* name;
  const char* help;
  uint64_t (v1::DeviceStats::*get)() const;
};
constexpr Device kDevices[] = {
    {"container_fs_reads_bytes_total", "Cumulative count of bytes read",
     &v1::DeviceStats::read_bytes},
    {"container_fs_reads_total", "Cumulative count of reads completed", &v1::DeviceStats::reads},
    {"container_fs_writes_bytes_total", "Cumulative count of bytes written",
     &v1::DeviceStats::write_bytes},
    {"container_fs_writes_total", "Cumulative count of writes completed", &v1::DeviceStats::writes},
};

void WriteOperations(MetricsWriter& out, const std::vector<Subject>& subjects) {
  out.Family("container_blkio_device_usage_total", "counter", "Blkio Device bytes usage");
  for (const Subject& subject : subjects)
    for (const auto& device : subject.usage->devices())
      for (const auto& operation : device.operations()) {
        MetricLabels labels = With(subject.labels, "device", device.name());
        labels.emplace_back("major", std::to_string(device.major()));
        labels.emplace_back("minor", std::to_string(device.minor()));
        labels.emplace_back("operation", operation.name());
        out.Sample(labels, static_cast<double>(operation.bytes()));
      }
}

/// Only the bytes that a container has written, because with containerd a kubelet does not report
/// the size of the layer's file system.
void WriteDisks(MetricsWriter& out, const std::vector<Subject>& subjects,
                const std::vector<PodUse>& pods) {
  WriteOperations(out, subjects);
  for (const Device& device : kDevices) {
    out.Family(device.name, "counter", device.help);
    for (const Subject& subject : subjects)
      for (const auto& stats : subject.usage->devices())
        out.Sample(With(subject.labels, "device", stats.name()),
                   static_cast<double>((stats.*device.get)()));
  }
  out.Family("container_fs_usage_bytes", "gauge",
             "Number of bytes that are consumed by the container on this filesystem.");
  for (const PodUse& pod : pods)
    for (const ContainerUse& container : pod.containers)
      out.Sample(With(LabelsOf(&pod, &container, container.usage), "device", ""),
                 static_cast<double>(container.layer_bytes));
}

struct Network {
  const char* name;
  const char* help;
  uint64_t (v1::InterfaceStats::*get)() const;
};
constexpr Network kNetworks[] = {
    {"container_network_receive_bytes_total", "Cumulative count of bytes received",
     &v1::InterfaceStats::rx_bytes},
    {"container_network_receive_errors_total",
     "Cumulative count of errors encountered while receiving", &v1::InterfaceStats::rx_errors},
    {"container_network_receive_packets_dropped_total",
     "Cumulative count of packets dropped while receiving", &v1::InterfaceStats::rx_dropped},
    {"container_network_receive_packets_total", "Cumulative count of packets received",
     &v1::InterfaceStats::rx_packets},
    {"container_network_transmit_bytes_total", "Cumulative count of bytes transmitted",
     &v1::InterfaceStats::tx_bytes},
    {"container_network_transmit_errors_total",
     "Cumulative count of errors encountered while transmitting", &v1::InterfaceStats::tx_errors},
    {"container_network_transmit_packets_dropped_total",
     "Cumulative count of packets dropped while transmitting", &v1::InterfaceStats::tx_dropped},
    {"container_network_transmit_packets_total", "Cumulative count of packets transmitted",
     &v1::InterfaceStats::tx_packets},
};

void WriteNetworks(MetricsWriter& out, const v1::NodeStatsReply& reply, const CadvisorUsage& node,
                   const std::vector<PodUse>& pods) {
  for (const Network& network : kNetworks) {
    out.Family(network.name, "counter", network.help);
    const auto write = [&out, &network](const MetricLabels& labels, const auto& interfaces) {
      for (const auto& each : interfaces)
        out.Sample(With(labels, "interface", each.name()),
                   static_cast<double>((each.*network.get)()));
    };
    write(LabelsOf(nullptr, nullptr, node), reply.node().interfaces());
    for (const PodUse& pod : pods)
      write(LabelsOf(&pod, nullptr, pod.usage), pod.stats.interfaces());
  }
}

void WriteMachine(MetricsWriter& out, const v1::NodeUsageStats& node,
                  const MachineLabels& machine) {
  const MetricLabels labels = {{"boot_id", machine.boot_id},
                               {"machine_id", machine.machine_id},
                               {"system_uuid", machine.system_uuid}};
  const auto write = [&](const char* name, const char* help, double value) {
    out.Family(name, "gauge", help);
    out.Sample(labels, value);
  };
  const auto write_count = [&](const char* name, const char* help, int64_t count) {
    if (count > 0) write(name, help, static_cast<double>(count));
  };
  write_count("machine_cpu_cores", "Number of logical CPU cores.", machine.cpus);
  write_count("machine_cpu_physical_cores", "Number of physical CPU cores.", machine.cores);
  write_count("machine_cpu_sockets", "Number of CPU sockets.", machine.sockets);
  if (node.has_memory_total_bytes())
    write("machine_memory_bytes", "Amount of memory installed on the machine.",
          static_cast<double>(node.memory_total_bytes()));
  if (node.has_swap_total_bytes())
    write("machine_swap_bytes", "Amount of swap memory available on the machine.",
          static_cast<double>(node.swap_total_bytes()));
  out.Family("cadvisor_version_info", "gauge",
             "A metric with a constant '1' value labeled by kernel version, OS version and "
             "version of who measures.");
  out.Sample({{"cadvisorRevision", ""},
              {"cadvisorVersion", machine.version},
              {"dockerVersion", ""},
              {"kernelVersion", machine.kernel_version},
              {"osVersion", machine.os_image}},
             1, false);
  out.Family("container_scrape_error", "gauge",
             "1 if there was an error while getting container metrics, 0 otherwise");
  out.Sample({}, 0, false);
}

}  // namespace

std::string CadvisorMetrics(const StatsSnapshot& stats, const std::vector<PodUse>& pods,
                            const MachineLabels& machine) {
  const v1::NodeStatsReply& reply = stats.reply;
  const CadvisorUsage node = UsageOfNode(reply.node());
  const auto subjects = SubjectsOf(reply, node, pods);
  MetricsWriter out(reply.at_wall_ns());
  WriteSeries(out, subjects);
  WriteFaults(out, subjects);
  WritePressure(out, subjects);
  WriteTimes(out, subjects, reply.at_wall_ns());
  WriteUlimits(out, subjects);
  WriteDisks(out, subjects, pods);
  WriteNetworks(out, reply, node, pods);
  WriteMachine(out, reply.node(), machine);
  return out.Take();
}

}  // namespace splitlet::node_api
