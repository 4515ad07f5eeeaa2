#include "services/node-api/stats/summary.h"

#include <algorithm>

#include "services/node-api/http/json.h"

namespace splitlet::node_api {
namespace {

constexpr std::string_view kDefaultInterface = "eth0";

void WriteStall(JsonObject& out, std::string_view name, const v1::StallStats& stall) {
  JsonObject member(out.Member(name));
  member.Number("total", stall.total_us());
  member.Number("avg10", stall.avg10());
  member.Number("avg60", stall.avg60());
  member.Number("avg300", stall.avg300());
}

void WritePsi(JsonObject& out, const v1::PressureStats& pressure) {
  JsonObject psi(out.Member("psi"));
  WriteStall(psi, "full", pressure.full());
  WriteStall(psi, "some", pressure.some());
}

void WriteCpu(JsonObject& out, int64_t at, const v1::UsageStats& usage,
              const std::optional<uint64_t>& nano_cores) {
  JsonObject member(out.Member("cpu"));
  member.Time("time", at);
  if (nano_cores) member.Number("usageNanoCores", *nano_cores);
  if (usage.has_cpu_usage_core_ns())
    member.Number("usageCoreNanoSeconds", usage.cpu_usage_core_ns());
  if (usage.has_cpu_pressure()) WritePsi(member, usage.cpu_pressure());
}

void WriteMemory(JsonObject& out, int64_t at, const v1::UsageStats& usage) {
  JsonObject member(out.Member("memory"));
  member.Time("time", at);
  const uint64_t working_set = usage.memory_working_set_bytes();
  if (usage.has_memory_limit_bytes() && usage.has_memory_working_set_bytes())
    member.Number("availableBytes",
                  usage.memory_limit_bytes() - std::min(usage.memory_limit_bytes(), working_set));
  if (usage.has_memory_usage_bytes()) member.Number("usageBytes", usage.memory_usage_bytes());
  if (usage.has_memory_working_set_bytes()) member.Number("workingSetBytes", working_set);
  if (usage.has_memory_rss_bytes()) member.Number("rssBytes", usage.memory_rss_bytes());
  if (usage.has_page_faults()) member.Number("pageFaults", usage.page_faults());
  if (usage.has_major_page_faults()) member.Number("majorPageFaults", usage.major_page_faults());
  if (usage.has_memory_pressure()) WritePsi(member, usage.memory_pressure());
}

void WriteSwap(JsonObject& out, int64_t at, const v1::UsageStats& usage) {
  if (!usage.has_swap_usage_bytes()) return;
  JsonObject member(out.Member("swap"));
  member.Time("time", at);
  if (usage.has_swap_limit_bytes())
    member.Number(
        "swapAvailableBytes",
        usage.swap_limit_bytes() - std::min(usage.swap_limit_bytes(), usage.swap_usage_bytes()));
  member.Number("swapUsageBytes", usage.swap_usage_bytes());
}

struct Used {
  int64_t at = 0;
  const v1::UsageStats& usage;
  std::optional<uint64_t> nano_cores;
  bool reduced = false;
};

void WriteUsage(JsonObject& out, const Used& used) {
  WriteCpu(out, used.at, used.usage, used.nano_cores);
  WriteMemory(out, used.at, used.usage);
  WriteSwap(out, used.at, used.usage);
  if (used.reduced || !used.usage.has_io_pressure()) return;
  JsonObject io(out.Member("io"));
  io.Time("time", used.at);
  WritePsi(io, used.usage.io_pressure());
}

void WriteInterface(JsonObject& out, const v1::InterfaceStats& stats) {
  out.Text("name", stats.name());
  out.Number("rxBytes", stats.rx_bytes());
  out.Number("rxErrors", stats.rx_errors());
  out.Number("txBytes", stats.tx_bytes());
  out.Number("txErrors", stats.tx_errors());
}

/// The top-level stats are those of eth0, as in a kubelet.
void WriteNetwork(JsonObject& out, int64_t at, const auto& interfaces) {
  if (interfaces.empty()) return;
  JsonObject network(out.Member("network"));
  network.Time("time", at);
  if (interfaces[0].name() == kDefaultInterface) {
    WriteInterface(network, interfaces[0]);
  } else {
    network.Text("name", "");
  }
  kube::JsonWriter& list = network.Member("interfaces");
  list.BeginList();
  for (const auto& each : interfaces) {
    JsonObject member(list);
    WriteInterface(member, each);
  }
  list.EndList();
}

void WriteFsMembers(JsonObject& out, int64_t at, const v1::FsStats& fs) {
  out.Time("time", at);
  out.Number("availableBytes", fs.available_bytes());
  out.Number("capacityBytes", fs.capacity_bytes());
  out.Number("usedBytes",
             fs.has_used_bytes() ? fs.used_bytes() : fs.capacity_bytes() - fs.available_bytes());
  out.Number("inodesFree", fs.inodes_free());
  out.Number("inodes", fs.inodes());
  out.Number("inodesUsed",
             fs.has_inodes_used() ? fs.inodes_used() : fs.inodes() - fs.inodes_free());
}

void WriteFs(kube::JsonWriter& writer, int64_t at, const v1::FsStats& fs) {
  JsonObject out(writer);
  WriteFsMembers(out, at, fs);
}

struct Share {
  int64_t at = 0;
  const v1::FsStats* fs = nullptr;  // null: unknown
  uint64_t bytes = 0;
  std::optional<uint64_t> inodes;
};

/// A file system, and the part that one object uses.
void WriteShare(kube::JsonWriter& writer, const Share& share) {
  JsonObject out(writer);
  out.Time("time", share.at);
  if (share.fs != nullptr) {
    out.Number("availableBytes", share.fs->available_bytes());
    out.Number("capacityBytes", share.fs->capacity_bytes());
  }
  out.Number("usedBytes", share.bytes);
  if (share.fs != nullptr) {
    out.Number("inodesFree", share.fs->inodes_free());
    out.Number("inodes", share.fs->inodes());
  }
  if (share.inodes) out.Number("inodesUsed", *share.inodes);
}

void WriteSystemContainers(JsonObject& node, const StatsSnapshot& stats, bool reduced) {
  kube::JsonWriter& list = node.Member("systemContainers");
  list.BeginList();
  for (const auto& system : stats.reply.system_containers()) {
    JsonObject out(list);
    out.Text("name", system.name());
    if (system.started_at_wall_ns() > 0) out.Time("startTime", system.started_at_wall_ns());
    WriteUsage(out, {.at = stats.reply.at_wall_ns(),
                     .usage = system.usage(),
                     .nano_cores = RateOf(stats, SystemKey(system.name())),
                     .reduced = reduced});
  }
  list.EndList();
}

/// The file system of containers' writable layers; null: the runtime does not report it.
const v1::FsStats* ContainerFs(const v1::NodeStatsReply& reply) {
  if (reply.has_container_fs()) return &reply.container_fs();
  return reply.has_image_fs() ? &reply.image_fs() : nullptr;
}

void WriteNode(JsonObject& summary, const StatsSnapshot& stats, const SummaryOptions& options) {
  const v1::NodeStatsReply& reply = stats.reply;
  const v1::NodeUsageStats& node = reply.node();
  const int64_t at = reply.at_wall_ns();
  JsonObject out(summary.Member("node"));
  out.Text("nodeName", options.node_name);
  WriteSystemContainers(out, stats, options.only_cpu_and_memory);
  if (node.booted_at_wall_ns() > 0) out.Time("startTime", node.booted_at_wall_ns());
  WriteUsage(out, {.at = at,
                   .usage = UsageOfNode(node),
                   .nano_cores = RateOf(stats, ""),
                   .reduced = options.only_cpu_and_memory});
  if (options.only_cpu_and_memory) return;
  WriteNetwork(out, at, node.interfaces());
  WriteFs(out.Member("fs"), at, reply.node_fs());
  if (reply.has_image_fs()) {
    JsonObject runtime(out.Member("runtime"));
    WriteFs(runtime.Member("imageFs"), at, reply.image_fs());
    WriteFs(runtime.Member("containerFs"), at, *ContainerFs(reply));
  }
  if (!node.has_max_pids() || !node.has_running_pids()) return;
  JsonObject rlimit(out.Member("rlimit"));
  rlimit.Time("time", at);
  rlimit.Number("maxpid", node.max_pids());
  rlimit.Number("curproc", node.running_pids());
}

void WriteContainer(kube::JsonWriter& writer, const ContainerUse& container,
                    const v1::NodeStatsReply& reply, bool reduced) {
  const int64_t at = reply.at_wall_ns();
  JsonObject out(writer);
  out.Text("name", container.name);
  out.Time("startTime", container.started_at_ns);
  WriteUsage(
      out,
      {.at = at, .usage = container.usage, .nano_cores = container.nano_cores, .reduced = reduced});
  if (reduced) return;
  WriteShare(out.Member("rootfs"), {.at = at,
                                    .fs = ContainerFs(reply),
                                    .bytes = container.layer_bytes,
                                    .inodes = container.layer_inodes});
  if (!container.log) return;
  WriteShare(out.Member("logs"), {.at = at,
                                  .fs = &reply.node_fs(),
                                  .bytes = container.log->used_bytes(),
                                  .inodes = container.log->inodes_used()});
}

void WriteVolumes(JsonObject& pod, const PodUse& use) {
  if (use.stats.volumes().empty()) return;
  kube::JsonWriter& list = pod.Member("volume");
  list.BeginList();
  for (const auto& volume : use.stats.volumes()) {
    JsonObject out(list);
    out.Text("name", volume.name());
    if (!volume.claim().empty()) {
      JsonObject claim(out.Member("pvcRef"));
      claim.Text("name", volume.claim());
      claim.Text("namespace", use.name_space);
    }
    WriteFsMembers(out, volume.at_wall_ns(), volume.fs());
  }
  list.EndList();
}

/// Container layers, logs and volumes on the node's disk; available bytes and inodes are those of
/// the disk.
Share EphemeralStorage(const PodUse& pod, const v1::NodeStatsReply& reply) {
  Share share{.at = reply.at_wall_ns(),
              .fs = &reply.node_fs(),
              .bytes = pod.stats.local_bytes(),
              .inodes = pod.stats.local_inodes()};
  for (const auto& container : pod.containers) {
    share.bytes += container.layer_bytes;
    *share.inodes += container.layer_inodes.value_or(0);
  }
  return share;
}

void WritePod(kube::JsonWriter& writer, const PodUse& pod, const v1::NodeStatsReply& reply,
              bool reduced) {
  JsonObject out(writer);
  {
    JsonObject reference(out.Member("podRef"));
    reference.Text("name", pod.name);
    reference.Text("namespace", pod.name_space);
    reference.Text("uid", pod.uid);
  }
  out.Time("startTime", pod.started_at_ns);
  kube::JsonWriter& list = out.Member("containers");
  list.BeginList();
  for (const auto& container : pod.containers) WriteContainer(list, container, reply, reduced);
  list.EndList();
  WriteUsage(out, {.at = reply.at_wall_ns(),
                   .usage = pod.usage,
                   .nano_cores = pod.nano_cores,
                   .reduced = reduced});
  if (reduced) return;
  WriteNetwork(out, reply.at_wall_ns(), pod.stats.interfaces());
  WriteVolumes(out, pod);
  WriteShare(out.Member("ephemeral-storage"), EphemeralStorage(pod, reply));
  if (!pod.stats.has_processes()) return;
  JsonObject processes(out.Member("process_stats"));
  processes.Number("process_count", pod.stats.processes());
}

}  // namespace

std::string SummaryJson(const StatsSnapshot& stats, const std::vector<PodUse>& pods,
                        const SummaryOptions& options) {
  kube::JsonWriter writer(0);
  {
    JsonObject summary(writer);
    WriteNode(summary, stats, options);
    kube::JsonWriter& list = summary.Member("pods");
    list.BeginList();
    for (const PodUse& pod : pods) WritePod(list, pod, stats.reply, options.only_cpu_and_memory);
    list.EndList();
  }
  return writer.Take();
}

}  // namespace splitlet::node_api
