#pragma once

/// The KubeletConfiguration file and the key `splitlet` beside it, read strictly: an unknown key, a
/// wrong type or an impossible value is an error that names file, key and reason. The whole file is
/// checked by every process, so that all start or none does. Threads: immutable after Load. Units:
/// as the names say. Source: configuration spec, field tables and defaults.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::daemon {

/// Fields used so far, with the kubelet's defaults; all other fields of the kind are checked and
/// kept unused.
class KubeletConfig {
 public:
  // Sources.
  std::string static_pod_path;  // staticPodPath
  std::string static_pod_url;   // staticPodURL
  std::map<std::string, std::vector<std::string>> static_pod_url_header;
  Duration file_check_frequency = std::chrono::seconds{20};
  Duration http_check_frequency = std::chrono::seconds{20};
  // Loop.
  Duration sync_frequency = std::chrono::seconds{60};
  // Runtime.
  std::string container_runtime_endpoint = "unix:///run/containerd/containerd.sock";
  Duration runtime_request_timeout = std::chrono::seconds{120};
  int32_t max_pods = 110;
  int32_t registry_pull_qps = 5;
  int32_t registry_burst = 10;
  bool serialize_image_pulls = true;
  std::vector<std::string> allowed_unsafe_sysctls;
  Duration crash_loop_max_container_restart_period = std::chrono::seconds{300};
  // DNS.
  std::string cluster_domain;
  std::vector<std::string> cluster_dns;
  std::string resolver_config = "/etc/resolv.conf";
  // Logs.
  int64_t container_log_max_size_bytes = 10 << 20;
  int32_t container_log_max_files = 5;
  std::string pod_logs_dir = "/var/log/pods";
  // Reserved resources.
  std::map<std::string, std::string> system_reserved, kube_reserved;
  // Containers.
  bool cpu_cfs_quota = true;
  Duration cpu_cfs_quota_period = std::chrono::milliseconds{100};
  bool seccomp_default = false;
  bool single_process_oom_kill = false;
  // Image GC.
  Duration image_minimum_gc_age = std::chrono::minutes{2};
  Duration image_maximum_gc_age{0};
  int32_t image_gc_high_threshold_percent = 85;
  int32_t image_gc_low_threshold_percent = 80;
  std::map<std::string, std::string> eviction_hard;
  // tracing: set when the key is there.
  struct Tracing {
    std::string endpoint = "localhost:4317";
    int32_t sampling_rate_per_million = 0;
  };
  std::optional<Tracing> tracing;
  // splitlet: own settings.
  struct Splitlet {
    Duration container_gc_min_age{0};
    int32_t container_gc_max_per_pod = 1;
    int32_t container_gc_max_total = -1;
    bool kill_foreign_pods = false;
    bool offline_start = false;
    int32_t max_blocking_threads = 64;
    bool lock_fail_points = false;
    std::map<std::string, uint32_t> users;  // process, or "ctl" -> user id; empty: one for all
  } splitlet;

  static StatusOr<KubeletConfig> Load(const std::string& path, const std::string& content);
};

}  // namespace splitlet::daemon
