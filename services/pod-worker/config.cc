#include "services/pod-worker/config.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "libs/config/memory_qos.h"
#include "libs/daemon/lock_file.h"
#include "libs/fs/path.h"
#include "libs/fs/state_id.h"
#include "services/pod-worker/cgroups/pod_limits.h"
#include "services/pod-worker/node/former_devices.h"
#include "services/pod-worker/node/swap.h"

namespace splitlet::pod_worker {

namespace {

size_t ParallelPulls(const config::KubeletConfig& kubelet) {
  return kubelet.serialize_image_pulls ? 1 : static_cast<size_t>(kubelet.max_parallel_image_pulls);
}

constexpr uint64_t kMaxProcFile = 1u << 20, kMaxConfig = 1u << 20;

node::NodeLimits LimitsOf(const config::KubeletConfig& kubelet) {
  return {.max_pods = kubelet.max_pods,
          .pods_per_core = kubelet.pods_per_core,
          .system_reserved = kubelet.system_reserved,
          .kube_reserved = kubelet.kube_reserved,
          .reserved_cpus = kubelet.reserved_system_cpus,
          .eviction_hard = kubelet.EvictionOfAllocatable()};
}

int64_t NumberIn(fs::FileSystem& files, const std::string& path) {
  const auto text = files.Read(path, 64);
  return text.ok() ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

Status AddReserved(const config::KubeletConfig& kubelet, CgroupSettings& cgroups) {
  using Enforced = config::KubeletConfig::ReservedCgroup::Enforced;
  const struct {
    const char *of, *field;
    const config::KubeletConfig::ReservedCgroup& cgroup;
    const std::map<std::string, std::string>& reserved;
  } kBoth[] = {
      {"System", "systemReservedCgroup", kubelet.system_reserved_cgroup, kubelet.system_reserved},
      {"Kube", "kubeReservedCgroup", kubelet.kube_reserved_cgroup, kubelet.kube_reserved}};
  for (const auto& each : kBoth) {
    if (each.cgroup.enforced == Enforced::kNot) continue;
    ReservedCgroup made{.of = each.of};
    ASSIGN_OR_RETURN(made.name, cgroup::ParseExisting(cgroups.driver, each.cgroup.path), "{}",
                     each.field);
    if (made.name.empty()) return InvalidArgument("{}: the root cannot be limited", each.field);
    ASSIGN_OR_RETURN(made.limits,
                     ReservedLimits(each.reserved, each.cgroup.enforced == Enforced::kCpu), "{}",
                     each.field);
    cgroups.reserved.push_back(std::move(made));
  }
  return OkStatus();
}

/// Without cgroups of pods it is enough to find those that were made before.
StatusOr<CgroupSettings> CgroupsOf(const config::KubeletConfig& kubelet, bool has_api_server,
                                   const node::Machine& machine, fs::FileSystem& files) {
  CgroupSettings cgroups{.enabled = kubelet.HasPodCgroups(has_api_server),
                         .pod_pids = kubelet.pod_pids_limit};
  const auto mountinfo = files.Read("/proc/self/mountinfo", kMaxProcFile);
  auto layout = mountinfo.ok() ? cgroup::ParseLayout(*mountinfo)
                               : StatusOr<cgroup::Layout>(mountinfo.status());
  if (layout.ok()) cgroups.layout = std::move(*layout);
  if (!cgroups.enabled) {
    using Enforced = config::KubeletConfig::ReservedCgroup::Enforced;
    if (kubelet.pod_pids_limit > 0)
      return InvalidArgument("podPidsLimit: it needs cgroupsPerQOS: true");
    if (kubelet.system_reserved_cgroup.enforced != Enforced::kNot ||
        kubelet.kube_reserved_cgroup.enforced != Enforced::kNot)
      return InvalidArgument("enforceNodeAllocatable: what is reserved needs cgroupsPerQOS: true");
    return cgroups;
  }
  RETURN_IF_ERROR(layout, "cgroupsPerQOS");
  cgroups.driver =
      kubelet.cgroup_driver == "systemd" ? cgroup::Driver::kSystemd : cgroup::Driver::kCgroupfs;
  ASSIGN_OR_RETURN(cgroups.root, cgroup::ParseCgroupfsPath(kubelet.cgroup_root), "cgroupRoot");
  ASSIGN_OR_RETURN(
      cgroups.node_limits,
      AllPodsLimits({.machine = machine,
                     .limits = LimitsOf(kubelet),
                     .enforced = kubelet.enforce_allocatable,
                     .most_pids = std::min(NumberIn(files, "/proc/sys/kernel/pid_max"),
                                           NumberIn(files, "/proc/sys/kernel/threads-max"))}),
      "enforceNodeAllocatable");
  cgroups.enforced = kubelet.enforce_allocatable;
  RETURN_IF_ERROR(AddReserved(kubelet, cgroups), "enforceNodeAllocatable");
  return cgroups;
}

/// Version 1 of cgroups reserves no memory.
StatusOr<MemoryQos> MemoryQosOf(const daemon::Flags& flags, fs::FileSystem& files, bool v2) {
  if (flags.config_file.empty() || !v2) return MemoryQos{};
  ASSIGN_OR_RETURN(const auto text, files.Read(flags.config_file, kMaxConfig), "{}",
                   flags.config_file);
  ASSIGN_OR_RETURN(const auto read, config::ReadMemoryQos(text), "{}", flags.config_file);
  return MemoryQos{.on = read.enabled,
                   .keep = read.tiered,
                   .throttling_factor = read.throttling_factor,
                   .page_bytes = ::sysconf(_SC_PAGESIZE)};
}

/// A node of an API server is set up as a kubelet's; another one where the file says so.
MachineSettings MachineOf(const daemon::Flags& flags, const config::KubeletConfig& kubelet) {
  const auto& machine = kubelet.machine;
  const bool set_up = machine.set_up.value_or(!flags.kubeconfig.empty());
  const bool checked = machine.protect_kernel_defaults.value_or(false);
  return {.sysctls = set_up && !checked,
          .checked_sysctls = checked,
          .chains = set_up && machine.iptables_chains.value_or(true),
          .shared_root = set_up,
          .resolver_config = kubelet.resolver_config,
          .cluster_domain = !kubelet.cluster_domain.empty()};
}

/// Errors that keep a node from starting. The amount of swap goes to `node`.
Status CheckMachine(const daemon::Flags& flags, const config::KubeletConfig& kubelet,
                    fs::FileSystem& files, NodeInfo& node) {
  const auto& machine = kubelet.machine;
  if (machine.fail_cgroup_v1 && !node.cgroups.v2)
    return FailedPrecondition(
        "failCgroupV1: true, but this machine has version 1 of cgroups: boot it with version 2, or "
        "set failCgroupV1: false");
  ASSIGN_OR_RETURN(node.swap_bytes, ReadSwapBytes(files), "swap");
  node.cgroups.limited_swap = machine.swap_behavior == "LimitedSwap";
  return CheckSwap({.fail_on_swap = machine.fail_swap_on.value_or(!flags.kubeconfig.empty()),
                    .behavior = machine.swap_behavior,
                    .cgroup_v2 = node.cgroups.v2},
                   node.swap_bytes);
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
                .image_access = {kubelet.image_pull_credentials_verification_policy,
                                 kubelet.preloaded_images_verification_allowlist},
                .objects_path = kubelet.splitlet.objects_path};
  ASSIGN_OR_RETURN(const auto fresh, fs::RandomStateId(files), "state id");
  ASSIGN_OR_RETURN(const auto state_id, fs::EnsureStateId(files, flags.state_dir, fresh),
                   "state id");
  ASSIGN_OR_RETURN(
      config.credential_providers,
      ReadProviders(files, flags.credential_provider_config, flags.credential_provider_bin_dir),
      "credential provider plugins");
  if (!kubelet.gates.Enabled("KubeletServiceAccountTokenForCredentialProviders"))
    RETURN_IF_ERROR(CheckWithoutTokens(config.credential_providers), "credential provider plugins");
  const std::string logs = kubelet.pod_logs_dir;
  const Cgroups cgroups = ReadCgroups(files, kubelet.single_process_oom_kill.value_or(false));
  if (!cgroups.v2 && !kubelet.single_process_oom_kill.value_or(true))
    return InvalidArgument(
        "singleProcessOOMKill: false needs version 2 of cgroups, and this machine has version 1: "
        "boot it with version 2, or set singleProcessOOMKill: true");
  ASSIGN_OR_RETURN(const auto machine, node::ReadMachine(files, flags.root_dir), "machine");
  ASSIGN_OR_RETURN(const auto resources, node::ComputeNodeResources(machine, LimitsOf(kubelet)),
                   "allocatable");
  ASSIGN_OR_RETURN(config.cgroups, CgroupsOf(kubelet, !flags.kubeconfig.empty(), machine, files),
                   "cgroups of pods");
  config.user_ids = ReadIdPool(
      files, {.ids_per_pod = kubelet.user_namespace_ids_per_pod, .pods = kubelet.max_pods});
  config.node = {.name = flags.node_name,
                 .annotation = fs::NodeAnnotationValue(state_id, flags.node_name),
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
  ASSIGN_OR_RETURN(config.node.memory_qos, MemoryQosOf(flags, files, cgroups.v2), "MemoryQoS");
  RETURN_IF_ERROR(CheckMachine(flags, kubelet, files, config.node), "machine");
  config.machine = MachineOf(flags, kubelet);
  config.former_devices = ReadFormerDevices(files, flags.root_dir);
  config.machine.swap_on = config.node.swap_bytes > 0;
  return config;
}

}  // namespace splitlet::pod_worker
