#include "services/gc/measure/signals.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "libs/cgroup/names.h"
#include "libs/node/pod_place.h"
#include "libs/node/resources.h"
#include "services/gc/measure/cgroup_usage.h"
#include "services/gc/measure/disk_layout.h"
#include "services/gc/measure/kernel_files.h"
#include "services/gc/measure/meminfo.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

constexpr uint64_t kMaxProcBytes = 64u << 10;
constexpr Duration kImageFsLimit = std::chrono::seconds{3};
constexpr std::string_view kNodeFs = "nodefs.", kContainerFs = "containerfs.";

std::optional<int64_t> Number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

using Texts = std::vector<std::string>;

struct ProcFiles {
  Texts paths;
  StatusOr<Texts> texts;
};

StatusOr<Texts> ReadAll(fs::FileSystem& files, const Texts& paths) {
  Texts texts;
  for (const auto& path : paths) {
    ASSIGN_OR_RETURN(texts.emplace_back(), files.Read(path, kMaxProcBytes), "read {}", path);
  }
  return texts;
}

ProcFiles ReadProc(fs::FileSystem& files, Texts paths) {
  auto texts = ReadAll(files, paths);
  return {std::move(paths), std::move(texts)};
}

void Add(const std::string& name, const ProcFiles& from,
         const std::optional<PressureSignal>& signal, Signals& signals) {
  if (signal) {
    signals.read.push_back(*signal);
  } else {
    signals.unread[name] = from.texts.ok()
                               ? fmt::format("cannot parse {}", fmt::join(from.paths, ", "))
                               : ToString(from.texts.status());
  }
}

/// A file system without a fixed number of inodes has no inode signal; that is no error.
void AddDisk(const std::string& name, const StatusOr<fs::DiskUsage>& usage, Signals& signals) {
  if (!usage.ok()) {
    for (const char* const what : {".available", ".inodesFree"})
      signals.unread[name + what] = ToString(usage.status());
    return;
  }
  signals.read.push_back({name + ".available", static_cast<int64_t>(usage->available_bytes),
                          static_cast<int64_t>(usage->capacity_bytes)});
  if (usage->inodes == 0) return;
  signals.read.push_back({name + ".inodesFree", static_cast<int64_t>(usage->inodes_free),
                          static_cast<int64_t>(usage->inodes)});
}

void AddPodsMemory(fs::FileSystem& files, const GcConfig& config, Signals& signals) {
  if (config.pods_cgroup.empty()) return;
  const auto signal = ReadPodsMemory(files, config.pods_cgroup);
  if (signal.ok()) {
    signals.read.push_back(signal->signal);
  } else {
    signals.unread[std::string(kPodsMemorySignal)] = ToString(signal.status());
  }
}

StatusOr<cri::ImageFsReport> ReadRuntimeDisks(const SignalSources& from) {
  ASSIGN_OR_RETURN(auto report, from.images.ImageFsInfo(After(from.clock, kImageFsLimit)),
                   "file system of the images");
  if (report.images.empty()) return Unavailable("the runtime reports no image file system");
  return report;
}

void AddRuntimeDisks(const SignalSources& from, const GcConfig& config, Signals& signals) {
  const auto report = ReadRuntimeDisks(from);
  if (!report.ok()) {
    AddDisk("imagefs", report.status(), signals);
    if (from.split) AddDisk("containerfs", report.status(), signals);
    return;
  }
  const std::string& images = report->images.front().mountpoint;
  const std::string& containers = ContainerFsOf(*report);
  AddDisk("imagefs", node::UsageAt(from.files, images), signals);
  if (containers == images) return;
  const auto layout = ReadDiskLayout(
      from.meter, {.pods = config.root_dir, .images = images, .containers = containers});
  if (layout.ok() && layout->containers != layout->images)
    AddDisk("containerfs", node::UsageAt(from.files, containers), signals);
}

}  // namespace

Signals ReadSignals(const SignalSources& from, const GcConfig& config) {
  Signals signals;
  const ProcFiles memory = ReadProc(from.files, {"/proc/meminfo"});
  Add("memory.available", memory,
      memory.texts.ok() ? MemorySignal(memory.texts->front()) : std::nullopt, signals);
  AddPodsMemory(from.files, config, signals);
  AddDisk("nodefs", node::UsageAt(from.files, config.root_dir), signals);
  AddRuntimeDisks(from, config, signals);
  const ProcFiles pids = ReadProc(
      from.files, {"/proc/loadavg", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"});
  std::optional<PressureSignal> left;
  if (pids.texts.ok()) left = PidSignal((*pids.texts)[0], (*pids.texts)[1], (*pids.texts)[2]);
  Add("pid.available", pids, left, signals);
  return signals;
}

std::optional<PressureSignal> MemorySignal(const std::string& meminfo) {
  const auto memory = MemoryOf(meminfo);
  if (!memory) return std::nullopt;
  return PressureSignal{"memory.available", static_cast<int64_t>(memory->available),
                        static_cast<int64_t>(memory->total)};
}

/// The cgroup driver of the runtime determines the name of the cgroup. A cgroup that another driver
/// left behind is empty, so the cgroup with less memory left counts.
StatusOr<PodsMemory> ReadPodsMemory(fs::FileSystem& files, const std::string& cgroup) {
  ASSIGN_OR_RETURN(const auto layout,
                   cgroup::ParseLayout(ReadOrEmpty(files, "/proc/self/mountinfo")), "cgroups");
  ASSIGN_OR_RETURN(const auto name, cgroup::ParseCgroupfsPath(cgroup), "cgroup of all pods");
  std::optional<PodsMemory> least;
  for (const auto driver : {cgroup::Driver::kCgroupfs, cgroup::Driver::kSystemd}) {
    const std::string path = cgroup::CgroupfsPath(cgroup::InTree(driver, name));
    const v1::UsageStats usage = ReadCgroup(files, layout, {.path = path, .other = {}});
    if (!usage.has_memory_limit_bytes() || !usage.has_memory_working_set_bytes()) continue;
    const auto limit = static_cast<int64_t>(usage.memory_limit_bytes());
    const auto used = static_cast<int64_t>(usage.memory_working_set_bytes());
    const int64_t left = std::max<int64_t>(0, limit - used);
    if (!least || left < least->signal.available)
      least = PodsMemory{{std::string(kPodsMemorySignal), left, limit}, path};
  }
  if (!least) return Unavailable("cgroup {} has no memory limit", cgroup);
  return *least;
}

std::optional<PressureSignal> PidSignal(const std::string& loadavg, const std::string& pid_max,
                                        const std::string& threads_max) {
  const auto pids = Number(pid_max);
  const auto threads = Number(threads_max);
  // "0.20 0.18 0.12 1/80 11206": running and existing tasks.
  const size_t slash = loadavg.find('/');
  if (!pids || !threads || slash == std::string::npos) return std::nullopt;
  const auto running = Number(loadavg.substr(slash + 1, loadavg.find(' ', slash) - slash - 1));
  if (!running) return std::nullopt;
  const int64_t capacity = std::min(*pids, *threads);
  return PressureSignal{"pid.available", std::max<int64_t>(0, capacity - *running), capacity};
}

bool IsContainerFs(const std::string& signal) { return signal.starts_with(kContainerFs); }

std::optional<std::string> SameForContainerFs(const std::string& signal) {
  if (!signal.starts_with(kNodeFs)) return std::nullopt;
  return std::string(kContainerFs) + signal.substr(kNodeFs.size());
}

const PressureSignal* FindSignal(const std::vector<PressureSignal>& signals,
                                 const std::string& name) {
  const auto found = std::ranges::find(signals, name, &PressureSignal::name);
  return found == signals.end() ? nullptr : &*found;
}

}  // namespace splitlet::gc
