#include "services/gc/config.h"

#include <utility>

#include "libs/cgroup/names.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"
#include "libs/fs/path.h"

namespace splitlet::gc {
namespace {

/// The cgroup that limits all pods to the allocatable resources, in the form of cgroupfs; empty: no
/// cgroup does.
StatusOr<std::string> LimitedCgroup(const config::KubeletConfig& file, bool has_api_server) {
  if (!file.HasPodCgroups(has_api_server) || !file.enforce_allocatable) return std::string();
  ASSIGN_OR_RETURN(cgroup::Name root, cgroup::ParseCgroupfsPath(file.cgroup_root), "cgroupRoot");
  return cgroup::CgroupfsPath(cgroup::NodeName(std::move(root)));
}

}  // namespace

StatusOr<GcConfig> LoadGcConfig(const config::KubeletConfig& file, const daemon::Flags& flags,
                                const std::string& state_id) {
  GcConfig config;
  config.node_name = flags.node_name;
  config.state_id = state_id;
  config.root_dir = flags.root_dir;
  ASSIGN_OR_RETURN(config.pods_cgroup, LimitedCgroup(file, !flags.kubeconfig.empty()),
                   "cgroup of all pods");
  config.pods_dir = flags.state_dir + "/pods";
  config.pod_logs_dir = file.pod_logs_dir;
  config.links_dir = fs::ParentOf(file.pod_logs_dir) + "/containers";
  config.records_dir = flags.run_dir + "/gc/facts";
  config.evictions_dir = flags.run_dir + "/gc/victims";
  config.call_limit = file.runtime_request_timeout;
  config.min_age = file.splitlet.container_gc_min_age;
  config.max_per_container = file.splitlet.container_gc_max_per_pod;
  config.max_total = file.splitlet.container_gc_max_total;
  config.kill_unmanaged_pods = file.splitlet.kill_unmanaged_pods;
  config.image_min_age = file.image_minimum_gc_age;
  config.image_max_age = file.image_maximum_gc_age;
  config.image_high_percent = file.image_gc_high_threshold_percent;
  config.image_low_percent = file.image_gc_low_threshold_percent;
  config.eviction_hard = file.eviction_hard;
  config.eviction_soft = file.eviction_soft;
  config.eviction_minimum_reclaim = file.eviction_minimum_reclaim;
  config.eviction_soft_grace = file.eviction_soft_grace_period;
  config.eviction_max_grace_seconds = file.eviction_max_pod_grace_period_seconds;
  config.local_storage_limits = file.local_storage_capacity_isolation;
  config.evict_static_pods = file.splitlet.evict_static_pods;
  config.volume_stats_period = file.volume_stats_period;
  config.shutdown_dir = flags.run_dir + "/gc/shutdown";
  config.shutdown_groups =
      PlainGroups(file.shutdown_grace_period, file.shutdown_grace_period_critical_pods);
  if (const auto& by_priority = file.shutdown_grace_period_by_pod_priority; !by_priority.empty()) {
    ShutdownGroups groups;
    for (const auto& group : by_priority) groups.push_back({group.priority, group.seconds});
    config.shutdown_groups = SortedGroups(std::move(groups));
  }
  config.log_max_bytes = file.container_log_max_size_bytes;
  config.log_max_files = file.container_log_max_files;
  config.log_period = file.container_log_monitor_interval;
  config.log_workers = file.container_log_max_workers;
  config.pressure_transition = file.eviction_pressure_transition_period;
  config.sandbox_image = file.splitlet.sandbox_image;
  if (config.min_age < Duration{0})
    return InvalidArgument("splitlet.containerGCMinAge: is negative");
  if (config.image_low_percent >= config.image_high_percent)
    return InvalidArgument(
        "imageGCLowThresholdPercent: {} is not below imageGCHighThresholdPercent, {}",
        config.image_low_percent, config.image_high_percent);
  return config;
}

}  // namespace splitlet::gc
