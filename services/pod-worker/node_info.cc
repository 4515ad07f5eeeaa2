#include "services/pod-worker/node_info.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "libs/kube/quantity.h"

namespace splitlet::pod_worker {

namespace {

constexpr const char* kHugePages = "/sys/kernel/mm/hugepages";
constexpr uint64_t kMaxFile = 1u << 16;
constexpr int64_t kKib = 1024, kMib = 1024 * kKib, kGib = 1024 * kMib;

bool Exists(fs::FileSystem& files, const std::string& path) { return files.Stat(path, true).ok(); }

/// Of cgroup v2: "0::/system.slice/x.service" is "/system.slice/x.service".
std::string OwnCgroup(fs::FileSystem& files) {
  const auto text = files.Read("/proc/self/cgroup", kMaxFile);
  if (!text.ok()) return "";
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return "";
}

std::optional<int64_t> Number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

HugePages Named(int64_t bytes) {
  if (bytes % kGib == 0)
    return {fmt::format("{}GB", bytes / kGib), fmt::format("hugepages-{}Gi", bytes / kGib)};
  if (bytes % kMib == 0)
    return {fmt::format("{}MB", bytes / kMib), fmt::format("hugepages-{}Mi", bytes / kMib)};
  return {fmt::format("{}KB", bytes / kKib), fmt::format("hugepages-{}Ki", bytes / kKib)};
}

StatusOr<int64_t> Amount(const std::map<std::string, std::string>& map, const std::string& name,
                         bool milli) {
  const auto found = map.find(name);
  if (found == map.end()) return 0;
  ASSIGN_OR_RETURN(const auto quantity, kube::Quantity::Parse(found->second), "{}", name);
  return milli ? quantity.MilliValue() : quantity.Value();
}

/// "100Mi", or "10%" of the capacity, cut off as a kubelet does.
StatusOr<int64_t> Threshold(const std::map<std::string, std::string>& map, const std::string& name,
                            int64_t capacity) {
  const auto found = map.find(name);
  if (found == map.end() || !found->second.ends_with('%')) return Amount(map, name, false);
  float percent = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, percent);
  if (error != std::errc{} || *end != '%')
    return InvalidArgument("{}: \"{}\" is not a percentage", name, text);
  return static_cast<int64_t>(static_cast<double>(capacity) * static_cast<double>(percent / 100));
}

}  // namespace

Cgroups ReadCgroups(fs::FileSystem& files, bool single_process_oom_kill) {
  Cgroups cgroups{.v2 = Exists(files, "/sys/fs/cgroup/cgroup.controllers")};
  cgroups.oom_group = cgroups.v2 && !single_process_oom_kill;
  cgroups.swap = cgroups.v2
                     ? Exists(files, "/sys/fs/cgroup" + OwnCgroup(files) + "/memory.swap.max")
                     : Exists(files, "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes");
  return cgroups;
}

std::vector<HugePages> ReadHugePages(fs::FileSystem& files) {
  static constexpr std::string_view kPrefix = "hugepages-", kSuffix = "kB";
  std::vector<HugePages> pages;
  const auto entries = files.List(kHugePages);
  if (!entries.ok()) return pages;
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with(kPrefix) || !entry.name.ends_with(kSuffix)) continue;
    const auto kib =
        Number(std::string_view(entry.name)
                   .substr(kPrefix.size(), entry.name.size() - kPrefix.size() - kSuffix.size()));
    if (!kib) continue;
    HugePages found = Named(*kib * kKib);
    const auto count =
        files.Read(fmt::format("{}/{}/nr_hugepages", kHugePages, entry.name), kMaxFile);
    if (count.ok())
      found.bytes = *kib * kKib * Number(count->substr(0, count->find('\n'))).value_or(0);
    pages.push_back(std::move(found));
  }
  std::ranges::sort(pages, {}, &HugePages::size);
  return pages;
}

std::vector<std::string> ReadThermalPaths(fs::FileSystem& files) {
  static constexpr const char* kCpus = "/sys/devices/system/cpu";
  std::vector<std::string> paths;
  const auto entries = files.List(kCpus);
  if (!entries.ok()) return paths;
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with("cpu") || !Number(entry.name.substr(3))) continue;
    const std::string path = fmt::format("{}/{}/thermal_throttle", kCpus, entry.name);
    if (Exists(files, path)) paths.push_back(path);
  }
  std::ranges::sort(paths);
  return paths;
}

StatusOr<NodeInfo::Allocatable> AllocatableOf(NodeInfo::Allocatable capacity,
                                              const Reservations& reservations) {
  const auto& hard = reservations.eviction_hard;
  ASSIGN_OR_RETURN(const int64_t spared, Threshold(hard, "memory.available", capacity.memory_bytes),
                   "evictionHard");
  ASSIGN_OR_RETURN(const int64_t spared_disk,
                   Threshold(hard, "nodefs.available", capacity.storage_bytes), "evictionHard");
  capacity.memory_bytes -= spared;
  capacity.storage_bytes -= spared_disk;
  for (const HugePages& pages : reservations.huge_pages) capacity.memory_bytes -= pages.bytes;
  for (const auto* reserved : {&reservations.system, &reservations.kube}) {
    ASSIGN_OR_RETURN(const int64_t cpu, Amount(*reserved, "cpu", true), "reserved");
    ASSIGN_OR_RETURN(const int64_t memory, Amount(*reserved, "memory", false), "reserved");
    ASSIGN_OR_RETURN(const int64_t storage, Amount(*reserved, "ephemeral-storage", false),
                     "reserved");
    capacity.cpu_millicores -= cpu;
    capacity.memory_bytes -= memory;
    capacity.storage_bytes -= storage;
  }
  return capacity;
}

}  // namespace splitlet::pod_worker
