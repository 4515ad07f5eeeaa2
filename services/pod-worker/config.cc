#include "services/pod-worker/config.h"

#include "libs/daemon/lock_file.h"
#include "libs/fs/path.h"
#include "libs/fs/state_id.h"
#include "libs/node/addresses.h"

namespace splitlet::pod_worker {

namespace {

size_t ParallelPulls(const config::KubeletConfig& kubelet) {
  return kubelet.serialize_image_pulls ? 1 : static_cast<size_t>(kubelet.max_parallel_image_pulls);
}

}  // namespace

StatusOr<Config> LoadConfig(const daemon::Flags& flags, const config::KubeletConfig& kubelet,
                            fs::FileSystem& files) {
  Config config{.run_dir = flags.run_dir,
                .state_dir = flags.state_dir,
                .runtime_endpoint = kubelet.container_runtime_endpoint,
                .request_timeout = kubelet.runtime_request_timeout,
                .sync_frequency = kubelet.sync_frequency,
                .crash_loop_max = kubelet.crash_loop_max_container_restart_period,
                .parallel_pulls = ParallelPulls(kubelet),
                .registry_qps = kubelet.registry_pull_qps,
                .registry_burst = kubelet.registry_burst,
                .objects_path = kubelet.splitlet.objects_path};
  ASSIGN_OR_RETURN(const auto fresh, fs::RandomStateId(files), "state id");
  ASSIGN_OR_RETURN(const auto state_id, fs::EnsureStateId(files, flags.state_dir, fresh),
                   "state id");
  const std::string logs = kubelet.pod_logs_dir;
  const Cgroups cgroups = ReadCgroups(files, kubelet.single_process_oom_kill.value_or(false));
  if (!cgroups.v2 && !kubelet.single_process_oom_kill.value_or(true))
    return InvalidArgument("singleProcessOOMKill: false needs version 2 of cgroups");
  ASSIGN_OR_RETURN(const auto machine, node::ReadMachine(files, flags.root_dir), "machine");
  ASSIGN_OR_RETURN(
      const auto resources,
      node::ComputeNodeResources(machine, {.max_pods = kubelet.max_pods,
                                           .pods_per_core = kubelet.pods_per_core,
                                           .system_reserved = kubelet.system_reserved,
                                           .kube_reserved = kubelet.kube_reserved,
                                           .reserved_cpus = kubelet.reserved_system_cpus,
                                           .eviction_hard = kubelet.eviction_hard}),
      "allocatable");
  config.user_ids = ReadIdPool(
      files, {.ids_per_pod = kubelet.user_namespace_ids_per_pod, .pods = kubelet.max_pods});
  // Without one pods start all the same: the network may come later.
  const auto addresses = node::ReadAddresses(files, node::ListInterfaceAddresses, flags.node_ips);
  config.node = {.name = flags.node_name,
                 .annotation = fs::NodeAnnotationValue(state_id, flags.node_name),
                 .ips = addresses.value_or(std::vector<std::string>()),
                 .memory_bytes = machine.memory_bytes,
                 .allocatable = AllocatableOf(resources),
                 .cluster_domain = kubelet.cluster_domain,
                 .cluster_dns = kubelet.cluster_dns,
                 .resolver_config = kubelet.resolver_config,
                 .pod_logs_dir = logs,
                 .container_links_dir = fs::ParentOf(logs) + "/containers",
                 .pod_roots = {.marks_dir = flags.state_dir + "/pods", .root_dir = flags.root_dir},
                 .seccomp_dir = flags.root_dir + "/seccomp",
                 .seccomp_default = kubelet.seccomp_default,
                 .cpu_quota = kubelet.cpu_cfs_quota,
                 .cpu_period_us = kubelet.cpu_cfs_quota_period / 1us,
                 .cgroups = cgroups,
                 .selinux = ReadSelinux(files),
                 .huge_pages = machine.huge_pages,
                 .thermal_paths = ReadThermalPaths(files)};
  return config;
}

}  // namespace splitlet::pod_worker
