#include "services/pod-worker/pod/node_info.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "libs/kube/resources.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint64_t kMaxNodeFile = 1u << 16;

bool Exists(fs::FileSystem& files, const std::string& path) { return files.Stat(path, true).ok(); }

/// This process in cgroup v2: "/system.slice/x.service" for the line "0::/system.slice/x.service".
std::string OwnCgroup(fs::FileSystem& files) {
  const auto text = files.Read("/proc/self/cgroup", kMaxNodeFile);
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

}  // namespace

bool ReadSelinux(fs::FileSystem& files) { return Exists(files, "/sys/fs/selinux/enforce"); }

Cgroups ReadCgroups(fs::FileSystem& files, bool single_process_oom_kill) {
  Cgroups cgroups{.v2 = Exists(files, "/sys/fs/cgroup/cgroup.controllers")};
  cgroups.oom_group = cgroups.v2 && !single_process_oom_kill;
  cgroups.swap = cgroups.v2
                     ? Exists(files, "/sys/fs/cgroup" + OwnCgroup(files) + "/memory.swap.max")
                     : Exists(files, "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes");
  return cgroups;
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

NodeInfo::Allocatable AllocatableOf(const node::NodeResources& resources) {
  const auto& left = resources.allocatable;
  return {.cpu_millicores = kube::Of(left, kube::kCpu).MilliValue(),
          .memory_bytes = kube::Of(left, kube::kMemory).Value(),
          .storage_bytes = kube::Of(left, kube::kEphemeralStorage).Value()};
}

}  // namespace splitlet::pod_worker
