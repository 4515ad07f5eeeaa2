#include "services/node-api/stats/summary.h"

#include "services/node-api/json.h"

namespace splitlet::node_api {
namespace {

struct Cpu {
  std::optional<uint64_t> total_ns, nano_cores;
};

void WriteCpu(JsonObject& out, int64_t at, const Cpu& cpu) {
  JsonObject member(out.Member("cpu"));
  member.Time("time", at);
  if (cpu.nano_cores) member.Number("usageNanoCores", *cpu.nano_cores);
  if (cpu.total_ns) member.Number("usageCoreNanoSeconds", *cpu.total_ns);
}

void WriteWorkingSet(JsonObject& out, int64_t at, uint64_t bytes) {
  JsonObject member(out.Member("memory"));
  member.Time("time", at);
  member.Number("workingSetBytes", bytes);
}

void WriteNodeMemory(JsonObject& out, int64_t at, const v1::NodeFigures& node) {
  JsonObject member(out.Member("memory"));
  member.Time("time", at);
  if (node.has_memory_available_bytes())
    member.Number("availableBytes", node.memory_available_bytes());
  if (node.has_memory_usage_bytes()) member.Number("usageBytes", node.memory_usage_bytes());
  if (node.has_memory_working_set_bytes())
    member.Number("workingSetBytes", node.memory_working_set_bytes());
}

void WriteFs(kube::JsonWriter& writer, int64_t at, const v1::FsFigures& fs) {
  JsonObject out(writer);
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

/// A file system of which one thing uses so much.
void WriteShare(kube::JsonWriter& writer, const v1::NodeStatsReply& reply, uint64_t used) {
  JsonObject out(writer);
  out.Time("time", reply.at_wall_ns());
  if (reply.has_image_fs()) {
    out.Number("availableBytes", reply.image_fs().available_bytes());
    out.Number("capacityBytes", reply.image_fs().capacity_bytes());
  }
  out.Number("usedBytes", used);
}

void WriteNode(JsonObject& summary, const Figures& figures, const SummaryOptions& options) {
  const v1::NodeStatsReply& reply = figures.reply;
  const v1::NodeFigures& node = reply.node();
  const int64_t at = reply.at_wall_ns();
  JsonObject out(summary.Member("node"));
  out.Text("nodeName", options.node_name);
  if (node.booted_at_wall_ns() > 0) out.Time("startTime", node.booted_at_wall_ns());
  Cpu cpu;
  if (node.has_cpu_usage_core_ns()) cpu.total_ns = node.cpu_usage_core_ns();
  if (const auto rate = figures.nano_cores.find(""); rate != figures.nano_cores.end())
    cpu.nano_cores = rate->second;
  WriteCpu(out, at, cpu);
  WriteNodeMemory(out, at, node);
  if (options.only_cpu_and_memory) return;
  WriteFs(out.Member("fs"), at, reply.node_fs());
  if (reply.has_image_fs()) {
    JsonObject runtime(out.Member("runtime"));
    WriteFs(runtime.Member("imageFs"), at, reply.image_fs());
    WriteFs(runtime.Member("containerFs"), at, reply.image_fs());
  }
  if (!node.has_max_pids() || !node.has_running_pids()) return;
  JsonObject rlimit(out.Member("rlimit"));
  rlimit.Time("time", at);
  rlimit.Number("maxpid", node.max_pids());
  rlimit.Number("curproc", node.running_pids());
}

void WriteContainer(kube::JsonWriter& writer, const ContainerUse& container,
                    const v1::NodeStatsReply& reply, bool reduced) {
  JsonObject out(writer);
  out.Text("name", container.name);
  out.Time("startTime", container.started_at_ns);
  WriteCpu(out, reply.at_wall_ns(),
           {.total_ns = container.cpu_ns, .nano_cores = container.nano_cores});
  WriteWorkingSet(out, reply.at_wall_ns(), container.working_set);
  if (!reduced) WriteShare(out.Member("rootfs"), reply, container.layer_bytes);
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
  uint64_t layers = 0;
  for (const auto& container : pod.containers) {
    WriteContainer(list, container, reply, reduced);
    layers += container.layer_bytes;
  }
  list.EndList();
  WriteCpu(out, reply.at_wall_ns(), {.total_ns = pod.cpu_ns(), .nano_cores = pod.nano_cores()});
  WriteWorkingSet(out, reply.at_wall_ns(), pod.working_set());
  if (!reduced) WriteShare(out.Member("ephemeral-storage"), reply, layers);
}

}  // namespace

std::string SummaryJson(const Figures& figures, const std::vector<PodUse>& pods,
                        const SummaryOptions& options) {
  kube::JsonWriter writer(0);
  {
    JsonObject summary(writer);
    WriteNode(summary, figures, options);
    kube::JsonWriter& list = summary.Member("pods");
    list.BeginList();
    for (const PodUse& pod : pods) WritePod(list, pod, figures.reply, options.only_cpu_and_memory);
    list.EndList();
  }
  return writer.Take();
}

}  // namespace splitlet::node_api
