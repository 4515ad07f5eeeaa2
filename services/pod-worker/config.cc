#include "services/pod-worker/config.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <array>

#include "libs/daemon/lock_file.h"
#include "libs/fs/path.h"
#include "libs/fs/state_id.h"

namespace splitlet::pod_worker {

namespace {

/// The first address of an interface that is up and is not the loopback; IPv4 before IPv6.
std::vector<std::string> NodeAddresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::string v4, v6;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0 ||
        (entry->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (entry->ifa_addr->sa_family == AF_INET && v4.empty()) {
      const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
      if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr)
        v4 = text.data();
    } else if (entry->ifa_addr->sa_family == AF_INET6 && v6.empty()) {
      const auto* address = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) continue;
      if (inet_ntop(AF_INET6, &address->sin6_addr, text.data(), text.size()) != nullptr)
        v6 = text.data();
    }
  }
  freeifaddrs(list);
  std::vector<std::string> addresses;
  if (!v4.empty()) addresses.push_back(v4);
  if (addresses.empty() && !v6.empty()) addresses.push_back(v6);
  return addresses;
}

}  // namespace

StatusOr<Config> LoadConfig(const daemon::Flags& flags, const daemon::KubeletConfig& kubelet,
                            fs::FileSystem& files) {
  Config config{.run_dir = flags.run_dir,
                .state_dir = flags.state_dir,
                .runtime_endpoint = kubelet.container_runtime_endpoint,
                .request_timeout = kubelet.runtime_request_timeout,
                .sync_frequency = kubelet.sync_frequency,
                .crash_loop_max = kubelet.crash_loop_max_container_restart_period,
                .serialize_image_pulls = kubelet.serialize_image_pulls,
                .registry_qps = kubelet.registry_pull_qps,
                .registry_burst = kubelet.registry_burst};
  ASSIGN_OR_RETURN(const auto fresh, fs::RandomStateId(files), "state id");
  ASSIGN_OR_RETURN(const auto state_id, fs::EnsureStateId(files, flags.state_dir, fresh),
                   "state id");
  const std::string logs = kubelet.pod_logs_dir;
  config.node = {.name = flags.node_name,
                 .annotation = fs::NodeAnnotationValue(state_id, flags.node_name),
                 .ips = NodeAddresses(),
                 .memory_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
                 .cluster_domain = kubelet.cluster_domain,
                 .cluster_dns = kubelet.cluster_dns,
                 .resolver_config = kubelet.resolver_config,
                 .pod_logs_dir = logs,
                 .container_links_dir = fs::ParentOf(logs) + "/containers",
                 .pods_dir = flags.state_dir + "/pods",
                 .seccomp_dir = flags.state_dir + "/seccomp",
                 .seccomp_default = kubelet.seccomp_default,
                 .cpu_quota = kubelet.cpu_cfs_quota,
                 .cpu_period_us = kubelet.cpu_cfs_quota_period / 1us,
                 .cgroups = ReadCgroups(files, kubelet.single_process_oom_kill.value_or(false)),
                 .huge_pages = ReadHugePages(files),
                 .thermal_paths = ReadThermalPaths(files)};
  NodeInfo::Allocatable capacity{.cpu_millicores = sysconf(_SC_NPROCESSORS_ONLN) * 1000,
                                 .memory_bytes = config.node.memory_bytes};
  const auto usage = files.Usage(flags.state_dir);
  if (usage.ok()) capacity.storage_bytes = static_cast<int64_t>(usage->capacity_bytes);
  const Reservations kept_back{kubelet.system_reserved, kubelet.kube_reserved,
                               kubelet.eviction_hard, config.node.huge_pages};
  ASSIGN_OR_RETURN(config.node.allocatable, AllocatableOf(capacity, kept_back), "allocatable");
  return config;
}

std::string RuntimeLockPath(const std::string& endpoint) {
  return daemon::RuntimeLockPath(endpoint, "pod-worker");
}

}  // namespace splitlet::pod_worker
