#include "services/sync-loop/admission/sysctls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/security.pb.h"

namespace splitlet::sync_loop {
namespace {

using Version = std::pair<int, int>;

const struct {
  const char* name;
  Version since;
} kSafe[] = {
    {"kernel.shm_rmid_forced", {0, 0}},
    {"net.ipv4.ip_local_port_range", {0, 0}},
    {"net.ipv4.tcp_syncookies", {0, 0}},
    {"net.ipv4.ping_group_range", {0, 0}},
    {"net.ipv4.ip_unprivileged_port_start", {0, 0}},
    {"net.ipv4.ip_local_reserved_ports", {3, 16}},
    {"net.ipv4.tcp_keepalive_time", {4, 5}},
    {"net.ipv4.tcp_keepalive_intvl", {4, 5}},
    {"net.ipv4.tcp_keepalive_probes", {4, 5}},
    {"net.ipv4.tcp_fin_timeout", {4, 6}},
    {"net.ipv4.tcp_rmem", {4, 15}},
    {"net.ipv4.tcp_wmem", {4, 15}},
};

/// "net/ipv4/conf/eth0.1/rp_filter" and "net.ipv4.conf.eth0/1.rp_filter" are the same setting:
/// the separator that comes first separates, the other belongs to a name.
std::string WithDots(std::string name) {
  const size_t first = name.find_first_of("./");
  if (first == std::string::npos || name[first] == '.') return name;
  for (char& c : name) {
    if (c == '.' || c == '/') c = c == '.' ? '/' : '.';
  }
  return name;
}

bool Matches(const std::string& pattern, const std::string& name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

bool IsNet(const std::string& name) { return name.starts_with("net."); }

bool IsIpc(const std::string& name) {
  return name.starts_with("kernel.shm") || name.starts_with("kernel.msg") || name == "kernel.sem" ||
         name.starts_with("fs.mqueue.");
}

}  // namespace

SysctlPolicy::SysctlPolicy(std::string_view kernel_release,
                           const std::vector<std::string>& allowed) {
  Version kernel{0, 0};
  // An unreadable release counts as the oldest kernel.
  if (std::sscanf(std::string(kernel_release).c_str(), "%d.%d", &kernel.first, &kernel.second) != 2)
    kernel = {0, 0};
  for (const auto& safe : kSafe) {
    if (kernel >= safe.since) patterns_.emplace_back(safe.name);
  }
  for (const auto& pattern : allowed) patterns_.push_back(WithDots(pattern));
}

std::string SysctlPolicy::WhyForbidden(const kube::PodSpec& spec) const {
  for (const auto& sysctl : spec.security_context().sysctls()) {
    const std::string name = WithDots(sysctl.name());
    const bool listed =
        std::any_of(patterns_.begin(), patterns_.end(),
                    [&name](const auto& pattern) { return Matches(pattern, name); });
    if (!listed) return fmt::format("forbidden sysctl: \"{}\" not allowlisted", name);
    if (spec.host_network() && IsNet(name))
      return fmt::format("forbidden sysctl: \"{}\" not allowed with host Net enabled", name);
    if (spec.host_ipc() && IsIpc(name))
      return fmt::format("forbidden sysctl: \"{}\" not allowed with host IPC enabled", name);
  }
  return "";
}

}  // namespace splitlet::sync_loop
