#include "services/gc/measure/stats/system_usage.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "libs/fs/fd.h"
#include "services/gc/measure/kernel_files.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

constexpr std::string_view kUnit = "splitlet-";

CgroupAt CgroupOf(const SystemSources& from, const std::string& pid) {
  return ParseProcCgroup(ReadOrEmpty(from.files, "/proc/" + pid + "/cgroup"), from.layout.version);
}

/// As units of systemd, the processes of splitlet have sibling cgroups.
bool IsUnit(std::string_view name) { return name.starts_with(kUnit) && name.ends_with(".service"); }

v1::UsageStats ReadOurs(const SystemSources& from, const CgroupAt& own) {
  const auto slash = own.path.rfind('/');
  if (slash == std::string::npos || !IsUnit(std::string_view(own.path).substr(slash + 1)))
    return ReadCgroup(from.files, from.layout, own);
  const std::string parent = own.path.substr(0, slash);
  v1::UsageStats sum;
  const auto units = from.files.List(MountOf(from.layout, "memory") + parent);
  if (!units.ok()) return sum;
  for (const auto& unit : *units) {
    if (!IsUnit(unit.name)) continue;
    AddUsage(sum,
             ReadCgroup(from.files, from.layout, {.path = parent + "/" + unit.name, .other = {}}));
  }
  sum.set_cgroup(own.path);
  return sum;
}

/// The whole machine as if it were a cgroup.
v1::UsageStats WholeMachine(const v1::NodeUsageStats& node) {
  v1::UsageStats usage;
  const auto take = [&node, &usage](auto has, auto get, auto set) {
    if ((node.*has)()) (usage.*set)((node.*get)());
  };
  using N = v1::NodeUsageStats;
  using U = v1::UsageStats;
  usage.set_cgroup("/");
  take(&N::has_cpu_usage_core_ns, &N::cpu_usage_core_ns, &U::set_cpu_usage_core_ns);
  take(&N::has_memory_usage_bytes, &N::memory_usage_bytes, &U::set_memory_usage_bytes);
  take(&N::has_memory_working_set_bytes, &N::memory_working_set_bytes,
       &U::set_memory_working_set_bytes);
  take(&N::has_memory_total_bytes, &N::memory_total_bytes, &U::set_memory_limit_bytes);
  take(&N::has_memory_rss_bytes, &N::memory_rss_bytes, &U::set_memory_rss_bytes);
  take(&N::has_page_faults, &N::page_faults, &U::set_page_faults);
  take(&N::has_major_page_faults, &N::major_page_faults, &U::set_major_page_faults);
  take(&N::has_swap_usage_bytes, &N::swap_usage_bytes, &U::set_swap_usage_bytes);
  take(&N::has_swap_total_bytes, &N::swap_total_bytes, &U::set_swap_limit_bytes);
  if (node.has_cpu_pressure()) *usage.mutable_cpu_pressure() = node.cpu_pressure();
  if (node.has_memory_pressure()) *usage.mutable_memory_pressure() = node.memory_pressure();
  if (node.has_io_pressure()) *usage.mutable_io_pressure() = node.io_pressure();
  return usage;
}

/// The directory of a cgroup is as old as the cgroup.
int64_t StartOf(const SystemSources& from, const std::string& path) {
  if (path == "/") return from.node.booted_at_wall_ns();
  const auto info = from.files.Stat(MountOf(from.layout, "memory") + path, true);
  return info.ok() ? ToNanos(info->modified) : 0;
}

}  // namespace

std::vector<v1::SystemContainerStats> ReadSystem(const SystemSources& from) {
  std::vector<v1::SystemContainerStats> all;
  const auto add = [&](const char* name, const std::string& path, v1::UsageStats usage) {
    if (path.empty() || !HasUsage(usage)) return;
    v1::SystemContainerStats& stats = all.emplace_back();
    stats.set_name(name);
    stats.set_started_at_wall_ns(StartOf(from, path));
    *stats.mutable_usage() = std::move(usage);
  };
  const CgroupAt own = CgroupOf(from, "self");
  add("kubelet", own.path, ReadOurs(from, own));
  if (from.runtime_pid) {
    const CgroupAt runtime = CgroupOf(from, std::to_string(*from.runtime_pid));
    add("runtime", runtime.path, ReadCgroup(from.files, from.layout, runtime));
  }
  const std::string& pods = from.tree.all_pods;
  if (pods.empty()) {
    add("pods", "/", WholeMachine(from.node));
  } else {
    add("pods", pods, ReadCgroup(from.files, from.layout, {.path = pods, .other = {}}));
  }
  return all;
}

std::optional<int64_t> ListenerOf(const std::string& endpoint) {
  constexpr std::string_view kScheme = "unix://";
  const std::string path =
      endpoint.starts_with(kScheme) ? endpoint.substr(kScheme.size()) : endpoint;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  const fs::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The kernel knows the listener. Nothing is sent, so a runtime that hangs does no harm.
  if (!socket.ok() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return std::nullopt;
  ucred listener{};
  socklen_t size = sizeof(listener);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &listener, &size) != 0)
    return std::nullopt;
  // Pid 1 listens in the place of a program that it starts on demand.
  return listener.pid > 1 ? std::optional<int64_t>(listener.pid) : std::nullopt;
}

}  // namespace splitlet::gc
