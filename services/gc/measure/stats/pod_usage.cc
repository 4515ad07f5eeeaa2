#include "services/gc/measure/stats/pod_usage.h"

#include <utility>

#include "libs/node/pod_place.h"
#include "services/gc/measure/kernel_files.h"
#include "services/gc/measure/stats/interfaces.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

void FillInterfaces(const PodSources& from, const std::vector<int64_t>& pids, v1::PodStats& stats) {
  for (const int64_t pid : pids) {
    if (pid <= 0) continue;  // of a namespace that is not ours
    const auto text = ReadOrEmpty(from.files, fmt::format("/proc/{}/net/dev", pid));
    if (text.empty()) continue;  // it has ended
    for (auto& each : ParseInterfaces(text)) *stats.add_interfaces() = std::move(each);
    return;
  }
}

/// Reads the network of the pod from the first process that shows it; the sandbox comes first.
void FillProcesses(const PodSources& from, const PodToRead& pod, v1::PodStats& stats) {
  uint64_t processes = 0;
  bool known = false, connected = false;
  const auto count = [&](const std::string& id) {
    const auto found = from.tree.by_id.find(id);
    if (found == from.tree.by_id.end()) return;
    const auto pids = ProcessesIn(from.files, from.layout, found->second);
    processes += pids.size();
    known = true;
    if (!connected) FillInterfaces(from, pids, stats);
    connected = stats.interfaces_size() > 0;
  };
  if (!pod.sandbox.empty()) count(pod.sandbox);
  for (const auto& [id, name] : pod.containers) count(id);
  if (known) stats.set_processes(processes);
}

/// The files in the folder itself, without its folders.
DiskStats LooseFiles(fs::FileSystem& files, const std::string& folder) {
  DiskStats sum;
  const auto entries = files.List(folder);
  if (!entries.ok()) return sum;
  for (const auto& entry : *entries) {
    if (entry.kind != fs::FileInfo::Kind::kFile) continue;
    const auto info = files.Stat(folder + "/" + entry.name, false);
    if (info.ok()) sum += {static_cast<int64_t>(info->size), 1};
  }
  return sum;
}

/// The hosts file and the termination logs, which any container of the pod may fill.
DiskStats MountedFiles(const PodSources& from, const std::string& uid) {
  const auto place = node::FindPodPlace(from.files, {from.pods_dir, from.root_dir}, uid);
  if (!place.ok()) return {};
  DiskStats sum;
  const auto hosts = from.files.Stat(place->path + "/etc-hosts", false);
  if (hosts.ok()) sum += {static_cast<int64_t>(hosts->size), 1};
  const auto logs = from.meter.Measure(place->path + "/containers");
  if (logs.ok() && !logs->more) sum += *logs;
  return sum;
}

void FillDisk(const PodSources& from, const PodToRead& pod,
              const std::vector<MeasuredVolume>& volumes, v1::PodStats& stats) {
  const std::string logs =
      fmt::format("{}/{}_{}_{}", from.pod_logs_dir, pod.name_space, pod.name, pod.uid);
  DiskStats sum = LooseFiles(from.files, logs);
  sum += MountedFiles(from, pod.uid);
  for (const auto& [id, name] : pod.containers) {
    const auto used = from.meter.Measure(logs + "/" + name);
    if (!used.ok() || used->more) continue;
    v1::LogStats& log = *stats.add_logs();
    log.set_container(name);
    log.set_used_bytes(static_cast<uint64_t>(used->bytes));
    log.set_inodes_used(static_cast<uint64_t>(used->inodes));
    sum += *used;
  }
  for (const MeasuredVolume& volume : volumes) {
    *stats.add_volumes() = *volume.stats;
    if (!volume.local) continue;
    sum += {static_cast<int64_t>(volume.stats->fs().used_bytes()),
            static_cast<int64_t>(volume.stats->fs().inodes_used())};
  }
  stats.set_local_bytes(static_cast<uint64_t>(sum.bytes));
  stats.set_local_inodes(static_cast<uint64_t>(sum.inodes));
}

}  // namespace

PodToRead PodOf(const v1::ObservedPod& seen) {
  PodToRead pod{.uid = seen.uid(), .name_space = seen.namespace_(), .name = seen.name()};
  for (const auto& sandbox : seen.sandboxes()) {
    if (sandbox.state() != v1::SandboxRecord::READY) continue;
    pod.sandbox = sandbox.id();
    break;  // the newest is first
  }
  for (const auto& container : seen.containers())
    if (container.state() == v1::ContainerRecord::RUNNING)
      pod.containers[container.id()] = container.name();
  return pod;
}

v1::PodStats ReadPod(const PodSources& from, const PodToRead& pod,
                     const std::vector<MeasuredVolume>& volumes) {
  v1::PodStats stats;
  stats.set_uid(pod.uid);
  if (const auto found = from.tree.by_uid.find(pod.uid); found != from.tree.by_uid.end()) {
    auto usage = ReadCgroup(from.files, from.layout, {.path = found->second, .other = {}});
    if (HasUsage(usage)) *stats.mutable_usage() = std::move(usage);
  }
  FillProcesses(from, pod, stats);
  FillDisk(from, pod, volumes, stats);
  return stats;
}

}  // namespace splitlet::gc
