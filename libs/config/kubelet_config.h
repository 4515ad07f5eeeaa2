#pragma once

/// The KubeletConfiguration file and the key `splitlet` in it. A wrong type, an impossible value,
/// or more protection than this node can give is an error that names file, key and reason. An
/// unknown or duplicate key is an error for a strict reader and below `splitlet`, else a warning.
/// Every process checks the whole file, so that all processes start or none.
/// Threads: immutable after Load.
/// Source: docs/behaviour/configuration.md, "Reading the file"; docs/safety.md, rule 29.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/config/feature_gates.h"
#include "libs/config/volume_stats.h"

namespace splitlet::config {

enum class Reading {
  kStrict,   // to check a file
  kLenient,  // to run with it, as a kubelet does
};

/// Pods with at least this priority, and below that of the next entry, have this long to end when
/// the node shuts down.
struct ShutdownGrace {
  int32_t priority = 0;
  int64_t seconds = 0;
  bool operator==(const ShutdownGrace&) const = default;
};

/// A taint that a node has at registration.
struct NodeTaint {
  std::string key, value, effect;
};

/// Fields that have an effect, with the kubelet's defaults; see docs/configuration.md.
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
  int32_t pods_per_core = 0;  // 0: no limit
  int32_t registry_pull_qps = 5;
  int32_t registry_burst = 10;
  bool serialize_image_pulls = true;
  int32_t max_parallel_image_pulls = 0;  // 0: no limit
  std::string image_pull_credentials_verification_policy = "NeverVerifyPreloadedImages";
  std::vector<std::string> preloaded_images_verification_allowlist;
  std::vector<std::string> allowed_unsafe_sysctls;
  Duration crash_loop_max_container_restart_period = std::chrono::seconds{300};
  // DNS.
  std::string cluster_domain;
  std::vector<std::string> cluster_dns;
  std::string resolver_config = "/etc/resolv.conf";
  // Logs.
  int64_t container_log_max_size_bytes = 10 << 20;
  int32_t container_log_max_files = 5;
  int32_t container_log_max_workers = 1;
  Duration container_log_monitor_interval = std::chrono::seconds{10};
  std::string pod_logs_dir = "/var/log/pods";
  // Reserved resources.
  std::map<std::string, std::string> system_reserved, kube_reserved;
  std::string reserved_system_cpus;  // "0-1,4"; empty: none
  // Cgroups of pods.
  /// A kubelet's default is true; unset: true on a node with an API server that sets up its
  /// machine.
  std::optional<bool> cgroups_per_qos;
  std::string cgroup_root = "/";
  std::string cgroup_driver =
      "cgroupfs";                   // or "systemd"; for a runtime that does not name its driver
  int64_t pod_pids_limit = -1;      // below 1: none
  bool enforce_allocatable = true;  // limits all pods together
  struct ReservedCgroup {
    std::string path;  // empty: none
    enum class Enforced { kNot, kCpu, kAll } enforced = Enforced::kNot;
  } system_reserved_cgroup, kube_reserved_cgroup;
  // Containers.
  bool cpu_cfs_quota = true;
  Duration cpu_cfs_quota_period = std::chrono::milliseconds{100};
  bool seccomp_default = false;
  uint32_t user_namespace_ids_per_pod = 65536;
  std::optional<bool> single_process_oom_kill;  // unset: true with cgroup version 1, else false
  // Image GC.
  Duration image_minimum_gc_age = std::chrono::minutes{2};
  Duration image_maximum_gc_age{0};
  int32_t image_gc_high_threshold_percent = 85;
  int32_t image_gc_low_threshold_percent = 80;
  /// Unlike a kubelet without a file, whose disk may fill up unnoticed.
  std::map<std::string, std::string> eviction_hard = {{"memory.available", "100Mi"},
                                                      {"nodefs.available", "10%"},
                                                      {"nodefs.inodesFree", "5%"},
                                                      {"imagefs.available", "15%"},
                                                      {"imagefs.inodesFree", "5%"}};
  std::map<std::string, std::string> eviction_soft, eviction_minimum_reclaim;
  std::map<std::string, Duration> eviction_soft_grace_period;  // for each signal in eviction_soft
  int64_t eviction_max_pod_grace_period_seconds = 0;
  Duration eviction_pressure_transition_period = std::chrono::minutes{5};
  Duration shutdown_grace_period{0}, shutdown_grace_period_critical_pods{0};
  /// `shutdownGracePeriodByPodPriority`, in the order of the file.
  std::vector<ShutdownGrace> shutdown_grace_period_by_pod_priority;
  bool local_storage_capacity_isolation = true;
  bool kernel_memcg_notification = false;
  Duration volume_stats_period = kVolumeStatsPeriod;  // negative: volumes are not measured
  // Requirements on the machine, and settings of it. An unset field here may mean another value
  // than in a kubelet (docs/configuration.md).
  struct MachineSettings {
    std::optional<bool> fail_swap_on;             // failSwapOn
    bool fail_cgroup_v1 = false;                  // failCgroupV1
    std::optional<bool> iptables_chains;          // makeIPTablesUtilChains
    std::optional<bool> protect_kernel_defaults;  // protectKernelDefaults
    std::string swap_behavior;                    // memorySwap.swapBehavior; empty: NoSwap
    /// splitlet.machineSetup; unset: true on a node with an API server.
    std::optional<bool> set_up;
  } machine;
  // API server.
  struct Api {
    std::string content_type;       // contentType; empty: application/vnd.kubernetes.protobuf
    int32_t qps = 50, burst = 100;  // kubeAPIQPS, kubeAPIBurst
    int32_t event_qps = 50, event_burst = 100;  // eventRecordQPS, eventBurst
    bool register_node = true;
    std::vector<NodeTaint> register_with_taints;
    std::string provider_id, pod_cidr;
    Duration status_update_frequency = std::chrono::seconds{10};
    Duration status_report_frequency = std::chrono::minutes{5};
    int32_t lease_duration_seconds = 40;
    int32_t status_max_images = 50;          // -1: no limit
    std::string change_detection = "Watch";  // configMapAndSecretChangeDetectionStrategy
    bool attach_detach_controller = true;    // enableControllerAttachDetach
    bool rotate_certificates = false;
    bool server_tls_bootstrap = false;
  } api;
  // The server of the kubelet's HTTPS API.
  struct Server {
    bool enabled = true;
    std::string address = "0.0.0.0";
    int32_t port = 10250, read_only_port = 0;  // 0: not served
    int32_t healthz_port = 10248;
    std::string healthz_address = "127.0.0.1";
    std::string tls_cert_file, tls_key_file;
    std::vector<std::string> tls_cipher_suites;
    std::string tls_min_version = "VersionTLS12";
    std::string client_ca_file;  // authentication.x509.clientCAFile
    bool webhook_authentication = true, anonymous = false;
    Duration token_ttl = std::chrono::minutes{2};
    std::string authorization = "Webhook";  // or AlwaysAllow
    Duration authorized_ttl = std::chrono::minutes{5};
    Duration unauthorized_ttl = std::chrono::seconds{30};
    bool debugging_handlers = true, system_log_handler = true, system_log_query = false;
    Duration stream_idle_timeout = std::chrono::hours{4};
  } server;
  // Logs of the processes.
  std::string log_format;  // empty: not set
  int32_t log_verbosity = 0;
  // tracing: set when the key is present.
  struct Tracing {
    std::string endpoint = "localhost:4317";
    int32_t sampling_rate_per_million = 0;
  };
  std::optional<Tracing> tracing;
  // splitlet: settings of splitlet itself.
  struct Splitlet {
    Duration container_gc_min_age{0};
    int32_t container_gc_max_per_pod = 1;
    int32_t container_gc_max_total = -1;
    bool kill_unmanaged_pods = false;
    bool evict_static_pods = false;
    bool allocatable_ignores_eviction = false;
    std::string sandbox_image;  // empty: the runtime's
    std::string objects_path;   // empty: this node has no API objects
    bool offline_start = false;
    int32_t max_blocking_threads = 64;
    bool lock_fail_points = false;
    std::map<std::string, uint32_t> users;  // process, or "ctl" -> user id; empty: one user for all
  } splitlet;

  FeatureGates gates;

  /// Keys that lenient decoding ignored, unknown and duplicate ones, with their lines. Empty: none.
  std::string passed_over;
  /// Fields of the file without effect here, in the order of docs/configuration.md.
  std::vector<std::string> without_effect;

  /// Hard thresholds that reduce allocatable.
  std::map<std::string, std::string> EvictionOfAllocatable() const {
    return splitlet.allocatable_ignores_eviction ? std::map<std::string, std::string>{}
                                                 : eviction_hard;
  }
  bool HasPodCgroups(bool has_api_server) const {
    return cgroups_per_qos.value_or(has_api_server && machine.set_up.value_or(true));
  }

  static StatusOr<KubeletConfig> Load(const std::string& path, const std::string& content,
                                      Reading reading);
};

}  // namespace splitlet::config
