#include "services/gc/measure/usage.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/node/pod_place.h"
#include "services/gc/measure/cgroup_usage.h"
#include "services/gc/measure/kernel_files.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

constexpr Duration kCallLimit = std::chrono::seconds{10};

struct Measured {
  std::string uid, name;
  cri::ContainerStats stats;
};

/// The running containers; for each name the newest.
StatusOr<std::vector<Measured>> ReadContainers(const UsageSources& from) {
  const Deadline deadline = After(from.clock, kCallLimit);
  ASSIGN_OR_RETURN(auto containers, from.reader.ListContainers({}, deadline), "list containers");
  ASSIGN_OR_RETURN(const auto listed, from.stats.ListContainerStats(deadline), "container stats");
  std::map<cri::ContainerId, const cri::ContainerStats*> by_id;
  for (const auto& stats : listed) by_id[stats.id] = &stats;
  std::map<std::pair<std::string, std::string>, const cri::Container*> newest;
  for (const auto& container : containers) {
    const auto uid = container.labels.find(std::string(kube::kPodUidLabel));
    if (container.state != cri::ContainerState::kRunning || uid == container.labels.end()) continue;
    const cri::Container*& known = newest[{uid->second, container.name}];
    if (known == nullptr || cri::IsNewer(container, *known)) known = &container;
  }
  std::vector<Measured> measured;
  for (const auto& [key, container] : newest) {
    const auto stats = by_id.find(container->id);
    if (stats != by_id.end()) measured.push_back({key.first, key.second, *stats->second});
  }
  return measured;
}

/// The cgroup of a pod also counts memory that no running container is charged for, such as files
/// in memory that an init container left.
void ReadPodMemory(const UsageSources& from, const std::vector<UsageWish>& wishes,
                   const std::vector<Measured>& containers, Usages& usages) {
  const auto layout = cgroup::ParseLayout(ReadOrEmpty(from.files, "/proc/self/mountinfo"));
  if (!layout.ok()) return;  // cgroups are not visible
  std::set<std::string> ids;
  for (const auto& container : containers) ids.insert(container.stats.id.str());
  const CgroupTree tree = FindCgroups(from.files, *layout, ids);
  for (const auto& wish : wishes) {
    const auto pod = tree.by_uid.find(wish.uid);
    if (!wish.memory || pod == tree.by_uid.end()) continue;
    const auto read = ReadCgroup(from.files, *layout, {.path = pod->second, .other = {}});
    if (read.has_memory_working_set_bytes())
      usages[wish.uid].cgroup_memory_bytes = static_cast<int64_t>(read.memory_working_set_bytes());
  }
}

/// Ids of running containers, by UID of their pods.
using Running = std::map<std::string, std::vector<std::string>>;

StatusOr<Running> ListRunning(const UsageSources& from) {
  ASSIGN_OR_RETURN(const auto listed, from.reader.ListContainers({}, After(from.clock, kCallLimit)),
                   "list containers");
  Running running;
  for (const auto& container : listed) {
    const auto uid = container.labels.find(std::string(kube::kPodUidLabel));
    if (container.state != cri::ContainerState::kRunning || uid == container.labels.end()) continue;
    running[uid->second].push_back(container.id.str());
  }
  return running;
}

/// For a pod with a cgroup of its own the runtime is not needed: it may be out of process ids
/// itself.
Status CountProcessesOf(const UsageSources& from, const std::vector<UsageWish>& wishes,
                        Usages& usages) {
  const auto layout = cgroup::ParseLayout(ReadOrEmpty(from.files, "/proc/self/mountinfo"));
  if (!layout.ok()) return OkStatus();  // cgroups are not visible
  const auto running = ListRunning(from);
  std::set<std::string> ids;
  if (running.ok())
    for (const auto& [uid, own] : *running) ids.insert(own.begin(), own.end());
  const CgroupTree tree = FindCgroups(from.files, *layout, ids);
  const auto add = [&](const std::string& path, std::optional<int64_t>& sum) {
    if (const auto count = CountProcesses(from.files, *layout, path))
      sum = sum.value_or(0) + *count;
  };
  for (const auto& wish : wishes) {
    auto& processes = usages[wish.uid].processes;
    if (const auto pod = tree.by_uid.find(wish.uid); pod != tree.by_uid.end()) {
      add(pod->second, processes);
      continue;
    }
    RETURN_IF_ERROR(running, "runtime");
    const auto own = running->find(wish.uid);
    if (own == running->end()) continue;
    for (const std::string& id : own->second)
      if (const auto at = tree.by_id.find(id); at != tree.by_id.end()) add(at->second, processes);
  }
  return OkStatus();
}

/// Keeps the first reason.
void NoteUnmeasured(const Status& why, PodUsage& usage) {
  if (usage.unmeasured.empty()) usage.unmeasured = Message(why);
}

/// A tree that is too large is measured in part.
StatusOr<DiskStats> MeasureTree(TreeMeter& meter, const std::string& path, PodUsage& usage) {
  auto stats = meter.Measure(path);
  if (!stats.ok()) {
    NoteUnmeasured(stats.status(), usage);
  } else if (stats->more) {
    NoteUnmeasured(ResourceExhausted("{}: too many or too deeply nested files to count", path),
                   usage);
  }
  return stats;
}

/// Measures the logs of the pod's containers, and the pod's directory without mounts.
Status MeasureDisk(const UsageSources& from, const UsageWish& wish, const GcConfig& config,
                   PodUsage& usage) {
  const auto& metadata = wish.pod->metadata();
  const std::string logs = fmt::format("{}/{}_{}_{}", config.pod_logs_dir, metadata.namespace_(),
                                       metadata.name(), wish.uid);
  for (auto& [name, container] : usage.containers) {
    ASSIGN_OR_RETURN(container.logs, MeasureTree(from.meter, logs + "/" + name, usage), "logs");
  }
  const auto place = node::FindPodPlace(from.files, {config.pods_dir, config.root_dir}, wish.uid);
  if (!place.ok()) {
    NoteUnmeasured(place.status(), usage);
    return place.status();
  }
  ASSIGN_OR_RETURN(usage.volumes, MeasureTree(from.meter, place->path, usage), "pod directory");
  return OkStatus();
}

void MeasureVolumes(const UsageSources& from, const UsageWish& wish, const GcConfig& config,
                    PodUsage& usage) {
  if (wish.volumes.empty()) return;
  const auto place = node::FindPodPlace(from.files, {config.pods_dir, config.root_dir}, wish.uid);
  if (!place.ok()) return NoteUnmeasured(place.status(), usage);
  for (const auto& name : wish.volumes) {
    const auto used =
        MeasureTree(from.meter, place->path + "/volumes/kubernetes.io~empty-dir/" + name, usage);
    if (used.ok()) usage.limited_volumes[name] = *used;
  }
}

}  // namespace

int64_t PodUsage::memory_bytes() const {
  if (cgroup_memory_bytes) return *cgroup_memory_bytes;
  int64_t sum = 0;
  for (const auto& [name, container] : containers) sum += container.memory_bytes;
  return sum;
}

DiskStats PodUsage::disk(bool layers, bool rest) const {
  DiskStats sum;
  for (const auto& [name, container] : containers) {
    if (layers) sum += container.layer;
    if (rest) sum += container.logs;
  }
  if (rest) sum += volumes;
  return sum;
}

StatusOr<Usages> ReadUsage(const UsageSources& from, const std::vector<UsageWish>& wishes,
                           const GcConfig& config) {
  Usages usages;
  bool ask = false, memory = false, processes = false;
  for (const auto& wish : wishes) {
    usages[wish.uid];
    ask = ask || wish.from_runtime();
    memory = memory || wish.memory;
    processes = processes || wish.processes;
  }
  if (processes) RETURN_IF_ERROR(CountProcessesOf(from, wishes, usages), "processes");
  if (ask) {
    ASSIGN_OR_RETURN(const auto measured, ReadContainers(from), "runtime");
    for (const auto& container : measured) {
      const auto usage = usages.find(container.uid);
      if (usage == usages.end()) continue;
      auto& own = usage->second.containers[container.name];
      own.memory_bytes = static_cast<int64_t>(container.stats.memory_working_set_bytes);
      own.layer.bytes = static_cast<int64_t>(container.stats.writable_layer_bytes);
      own.layer.inodes = static_cast<int64_t>(container.stats.writable_layer_inodes.value_or(0));
    }
    if (memory) ReadPodMemory(from, wishes, measured, usages);
  }
  for (const auto& wish : wishes) {
    PodUsage& usage = usages[wish.uid];
    const bool runs = !usage.containers.empty();
    usage.has_memory = wish.memory && (runs || usage.cgroup_memory_bytes);
    usage.has_disk = wish.disk && MeasureDisk(from, wish, config, usage).ok();
    MeasureVolumes(from, wish, config, usage);
  }
  return usages;
}

StatusOr<DiskLayout> FindDiskLayout(const UsageSources& from, cri::Images& images,
                                    const GcConfig& config) {
  ASSIGN_OR_RETURN(const auto report, images.ImageFsInfo(After(from.clock, kCallLimit)),
                   "file system of the images");
  if (report.images.empty()) return Unavailable("the runtime reports no image file system");
  return ReadDiskLayout(from.meter, {.pods = config.root_dir,
                                     .images = report.images.front().mountpoint,
                                     .containers = ContainerFsOf(report)});
}

}  // namespace splitlet::gc
