#include "services/gc/measure/stats/node_stats.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "services/gc/measure/disk_layout.h"
#include "services/gc/measure/kernel_files.h"
#include "services/gc/measure/meminfo.h"
#include "services/gc/measure/stats/interfaces.h"
#include "services/gc/measure/stats/open_files.h"
#include "services/gc/measure/stats/system_usage.h"
#include "services/gc/measure/stats/volumes.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

std::optional<int64_t> FirstNumber(const std::string& text) {
  std::istringstream words(text);
  int64_t value = 0;
  if (words >> value) return value;
  return std::nullopt;
}

/// The number of all tasks in "0.00 0.01 0.05 1/123 4567".
std::optional<int64_t> Processes(const std::string& loadavg) {
  const auto slash = loadavg.find('/');
  if (slash == std::string::npos) return std::nullopt;
  return FirstNumber(loadavg.substr(slash + 1));
}

void FillFaults(const std::string& vmstat, v1::NodeUsageStats& node) {
  std::istringstream words(vmstat);
  std::string name;
  for (uint64_t value = 0; words >> name >> value;) {
    if (name == "pgfault") node.set_page_faults(value);
    if (name == "pgmajfault") node.set_major_page_faults(value);
  }
}

void FillNode(fs::FileSystem& files, v1::NodeUsageStats& node) {
  const std::string stat = ReadOrEmpty(files, "/proc/stat");
  if (const auto cpu = CpuUsage(stat)) node.set_cpu_usage_core_ns(*cpu);
  if (const auto booted = BootTimeOf(stat)) node.set_booted_at_wall_ns(*booted * 1'000'000'000);
  if (const auto memory = MemoryOf(ReadOrEmpty(files, "/proc/meminfo"))) {
    node.set_memory_total_bytes(memory->total);
    node.set_memory_available_bytes(memory->available);
    node.set_memory_usage_bytes(memory->usage);
    node.set_memory_working_set_bytes(memory->working_set);
    node.set_memory_rss_bytes(memory->rss);
    node.set_swap_total_bytes(memory->swap_total);
    node.set_swap_usage_bytes(memory->swap_used);
  }
  FillFaults(ReadOrEmpty(files, "/proc/vmstat"), node);
  const auto stalls = [&files](const std::string& of) {
    return ReadOrEmpty(files, "/proc/pressure/" + of);
  };
  FillPressure(stalls, node);
  // Process 1 is in the network of the machine, whatever network gc is in.
  std::string net = ReadOrEmpty(files, "/proc/1/net/dev");
  if (net.empty()) net = ReadOrEmpty(files, "/proc/net/dev");
  for (auto& each : ParseInterfaces(net)) *node.add_interfaces() = std::move(each);
  const auto pids = FirstNumber(ReadOrEmpty(files, "/proc/sys/kernel/pid_max"));
  const auto threads = FirstNumber(ReadOrEmpty(files, "/proc/sys/kernel/threads-max"));
  if (pids && threads) node.set_max_pids(std::min(*pids, *threads));
  if (const auto running = Processes(ReadOrEmpty(files, "/proc/loadavg")))
    node.set_running_pids(*running);
}

std::set<std::string> IdsOf(const std::vector<cri::ContainerStats>& containers,
                            const StatsInput& input) {
  std::set<std::string> ids;
  for (const auto& container : containers) ids.insert(container.id.str());
  for (const PodToRead& pod : input.pods) {
    if (!pod.sandbox.empty()) ids.insert(pod.sandbox);
    for (const auto& [id, name] : pod.containers) ids.insert(id);
  }
  return ids;
}

struct Cgroups {
  fs::FileSystem& files;
  const cgroup::Layout& layout;
  const CgroupTree& tree;
};

void FillContainer(const Cgroups& from, const cri::ContainerStats& container,
                   v1::ContainerStats& stats) {
  stats.set_id(container.id.str());
  stats.set_cpu_usage_core_ns(container.cpu_usage_ns);
  stats.set_memory_working_set_bytes(container.memory_working_set_bytes);
  stats.set_writable_layer_bytes(container.writable_layer_bytes);
  if (container.writable_layer_inodes)
    stats.set_writable_layer_inodes(*container.writable_layer_inodes);
  const auto found = from.tree.by_id.find(stats.id());
  if (found == from.tree.by_id.end()) return;
  auto usage = ReadCgroup(from.files, from.layout, {.path = found->second, .other = {}});
  if (!HasUsage(usage)) return;
  usage.set_processes(ProcessesIn(from.files, from.layout, found->second).size());
  *stats.mutable_usage() = std::move(usage);
}

void FillDetails(fs::FileSystem& files, const cgroup::Layout& layout, v1::NodeStatsReply& reply) {
  const auto fill = [&](v1::UsageStats& usage) {
    ReadCgroupDetails(files, layout, {.path = usage.cgroup(), .other = {}}, usage);
  };
  for (auto& pod : *reply.mutable_pods())
    if (pod.has_usage()) fill(*pod.mutable_usage());
  OpenFilesBudget left;
  for (auto& container : *reply.mutable_containers()) {
    if (!container.has_usage()) continue;
    v1::UsageStats& usage = *container.mutable_usage();
    fill(usage);
    ReadOpenFiles(files, ProcessesIn(files, layout, usage.cgroup()), left, usage);
  }
}

void FillRuntimeFs(fs::FileSystem& files, const cri::FsUsage& used, v1::FsStats& stats) {
  if (const auto usage = files.Usage(used.mountpoint); usage.ok()) stats = StatsOf(*usage);
  stats.set_used_bytes(used.used_bytes);
  stats.set_inodes_used(used.inodes_used);
}

Status FillImages(const StatsSources& from, const Deadline& deadline, v1::NodeStatsReply& reply) {
  ASSIGN_OR_RETURN(const auto report, from.images.ImageFsInfo(deadline), "image file system");
  if (report.images.empty()) return OkStatus();
  const cri::FsUsage& images = report.images.front();
  FillRuntimeFs(from.files, images, *reply.mutable_image_fs());
  if (report.containers.empty()) return OkStatus();
  const cri::FsUsage& containers = report.containers.front();
  const auto layout = ReadDiskLayout(
      from.meter,
      {.pods = from.root_dir, .images = images.mountpoint, .containers = containers.mountpoint});
  if (layout.ok() && layout->containers != layout->images)
    FillRuntimeFs(from.files, containers, *reply.mutable_container_fs());
  return OkStatus();
}

}  // namespace

std::optional<uint64_t> CpuUsage(const std::string& stat) {
  std::istringstream words(stat);
  std::string name;
  uint64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
  if (!(words >> name >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal) ||
      name != "cpu")
    return std::nullopt;
  return (user + nice + system + irq + soft) * kNanosOfTick;
}

std::optional<int64_t> BootTimeOf(const std::string& stat) {
  const auto at = stat.find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  return FirstNumber(stat.substr(at + 7));
}

StatusOr<v1::NodeStatsReply> ReadNodeStats(const StatsSources& from, const StatsInput& input,
                                           const Deadline& deadline) {
  v1::NodeStatsReply reply;
  reply.set_at_wall_ns(ToNanos(from.clock.WallNow()));
  FillNode(from.files, *reply.mutable_node());
  ASSIGN_OR_RETURN(const auto disk, from.files.Usage(from.root_dir), "{}", from.root_dir);
  *reply.mutable_node_fs() = StatsOf(disk);
  ASSIGN_OR_RETURN(const auto containers, from.stats.ListContainerStats(deadline),
                   "list container stats");
  // Where cgroups are not visible, only the stats of the runtime remain.
  const auto mounted = cgroup::ParseLayout(ReadOrEmpty(from.files, "/proc/self/mountinfo"));
  const cgroup::Layout layout = mounted.ok() ? *mounted : cgroup::Layout{};
  const CgroupTree tree = FindCgroups(from.files, layout, IdsOf(containers, input));
  for (const auto& container : containers)
    FillContainer({from.files, layout, tree}, container, *reply.add_containers());
  const PodSources pods{.files = from.files,
                        .meter = from.meter,
                        .layout = layout,
                        .tree = tree,
                        .root_dir = from.root_dir,
                        .pods_dir = from.pods_dir,
                        .pod_logs_dir = from.pod_logs_dir};
  for (const PodToRead& pod : input.pods) {
    const auto volumes = input.volumes.find(pod.uid);
    *reply.add_pods() =
        ReadPod(pods, pod,
                volumes == input.volumes.end() ? std::vector<MeasuredVolume>() : volumes->second);
  }
  if (input.details) FillDetails(from.files, layout, reply);
  for (auto& each : ReadSystem({.files = from.files,
                    .layout = layout,
                    .tree = tree,
                    .runtime_pid = from.runtime_pid(),
                    .node = reply.node()}))
    *reply.add_system_containers() = std::move(each);
  RETURN_IF_ERROR(FillImages(from, deadline, reply), "images");
  return reply;
}

}  // namespace splitlet::gc
