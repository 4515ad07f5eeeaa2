#include "services/node-api/pages/configz.h"

#include <array>
#include <string_view>
#include <utility>

#include "libs/base/url_secrets.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"
#include "services/node-api/http/json.h"
#include "services/node-api/pages/file_fields.h"

namespace splitlet::node_api {
namespace {

using config::KubeletConfig;

/// Fields without effect here, because splitlet behaves like a kubelet's default.
struct Constant {
  std::string_view key, json;
};
constexpr auto kConstants = std::to_array<Constant>({
    {"cpuManagerPolicy", R"("none")"},
    {"cpuManagerReconcilePeriod", R"("10s")"},
    {"memoryManagerPolicy", R"("None")"},
    {"topologyManagerPolicy", R"("none")"},
    {"topologyManagerScope", R"("container")"},
    {"oomScoreAdj", "-999"},
    {"maxOpenFiles", "1000000"},
    {"volumePluginDir", R"("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/")"},
});

void TextIfAny(JsonObject& out, std::string_view key, const std::string& value) {
  if (!value.empty()) out.Text(key, value);
}
void TextsIfAny(JsonObject& out, std::string_view key, const std::vector<std::string>& values) {
  if (!values.empty()) out.Texts(key, values);
}
void MapIfAny(JsonObject& out, std::string_view key,
              const std::map<std::string, std::string>& values) {
  if (!values.empty()) out.Map(key, values);
}
void NumberIfAny(JsonObject& out, std::string_view key, int64_t value) {
  if (value != 0) out.Number(key, value);
}
void FlagIfSet(JsonObject& out, std::string_view key, bool value) {
  if (value) out.Flag(key, value);
}

void WriteAuthentication(JsonObject& out, const KubeletConfig::Server& server) {
  {
    JsonObject authentication(out.Member("authentication"));
    { JsonObject(authentication.Member("anonymous")).Flag("enabled", server.anonymous); }
    {
      JsonObject webhook(authentication.Member("webhook"));
      webhook.Flag("enabled", server.webhook_authentication);
      webhook.Span("cacheTTL", server.token_ttl);
    }
    JsonObject x509(authentication.Member("x509"));
    TextIfAny(x509, "clientCAFile", server.client_ca_file);
  }
  JsonObject authorization(out.Member("authorization"));
  authorization.Text("mode", server.authorization);
  JsonObject webhook(authorization.Member("webhook"));
  webhook.Span("cacheAuthorizedTTL", server.authorized_ttl);
  webhook.Span("cacheUnauthorizedTTL", server.unauthorized_ttl);
}

void WriteServer(JsonObject& out, const KubeletConfig::Server& server, const FileFields& fields) {
  out.Flag("enableServer", server.enabled);
  out.Text("address", server.address);
  out.Number("port", server.port);
  NumberIfAny(out, "readOnlyPort", server.read_only_port);
  out.Number("healthzPort", server.healthz_port);
  out.Text("healthzBindAddress", server.healthz_address);
  TextIfAny(out, "tlsCertFile", server.tls_cert_file);
  TextIfAny(out, "tlsPrivateKeyFile", server.tls_key_file);
  TextsIfAny(out, "tlsCipherSuites", server.tls_cipher_suites);
  out.Text("tlsMinVersion", server.tls_min_version);
  out.Flag("enableDebuggingHandlers", server.debugging_handlers);
  out.Flag("enableProfilingHandler", fields.profiling_handler);
  out.Flag("enableDebugFlagsHandler", fields.debug_flags_handler);
  out.Flag("enableSystemLogHandler", server.system_log_handler);
  out.Flag("enableSystemLogQuery", server.system_log_query);
  out.Span("streamingConnectionIdleTimeout", server.stream_idle_timeout);
  WriteAuthentication(out, server);
}

void WriteTaints(JsonObject& out, const std::vector<config::NodeTaint>& taints) {
  if (taints.empty()) return;
  kube::JsonWriter& writer = out.Member("registerWithTaints");
  writer.BeginList();
  for (const auto& taint : taints) {
    JsonObject each(writer);
    each.Text("key", taint.key);
    TextIfAny(each, "value", taint.value);
    each.Text("effect", taint.effect);
  }
  writer.EndList();
}

void WriteApi(JsonObject& out, const KubeletConfig::Api& api) {
  out.Text("contentType",
           api.content_type.empty() ? "application/vnd.kubernetes.protobuf" : api.content_type);
  out.Number("kubeAPIQPS", api.qps);
  out.Number("kubeAPIBurst", api.burst);
  out.Number("eventRecordQPS", api.event_qps);
  out.Number("eventBurst", api.event_burst);
  out.Flag("registerNode", api.register_node);
  WriteTaints(out, api.register_with_taints);
  TextIfAny(out, "providerID", api.provider_id);
  TextIfAny(out, "podCIDR", api.pod_cidr);
  out.Span("nodeStatusUpdateFrequency", api.status_update_frequency);
  out.Span("nodeStatusReportFrequency", api.status_report_frequency);
  out.Number("nodeLeaseDurationSeconds", api.lease_duration_seconds);
  out.Number("nodeStatusMaxImages", api.status_max_images);
  out.Text("configMapAndSecretChangeDetectionStrategy", api.change_detection);
  out.Flag("enableControllerAttachDetach", api.attach_detach_controller);
  FlagIfSet(out, "rotateCertificates", api.rotate_certificates);
  FlagIfSet(out, "serverTLSBootstrap", api.server_tls_bootstrap);
}

/// The URL and the headers may hold a password, which is masked.
void WriteUrl(JsonObject& out, const KubeletConfig& file) {
  TextIfAny(out, "staticPodURL", WithoutSecrets(file.static_pod_url));
  if (file.static_pod_url_header.empty()) return;
  JsonObject headers(out.Member("staticPodURLHeader"));
  for (const auto& [name, values] : file.static_pod_url_header)
    headers.Texts(name, std::vector<std::string>(values.size(), "<masked>"));
}

void WriteImages(JsonObject& out, const KubeletConfig& file) {
  out.Number("registryPullQPS", file.registry_pull_qps);
  out.Number("registryBurst", file.registry_burst);
  out.Flag("serializeImagePulls", file.serialize_image_pulls);
  NumberIfAny(out, "maxParallelImagePulls", file.max_parallel_image_pulls);
  out.Text("imagePullCredentialsVerificationPolicy",
           file.image_pull_credentials_verification_policy);
  TextsIfAny(out, "preloadedImagesVerificationAllowlist",
             file.preloaded_images_verification_allowlist);
  out.Span("imageMinimumGCAge", file.image_minimum_gc_age);
  out.Span("imageMaximumGCAge", file.image_maximum_gc_age);
  out.Number("imageGCHighThresholdPercent", file.image_gc_high_threshold_percent);
  out.Number("imageGCLowThresholdPercent", file.image_gc_low_threshold_percent);
}

void WriteLogs(JsonObject& out, const KubeletConfig& file, const daemon::Flags& flags,
               const FileFields& fields) {
  out.Text("containerLogMaxSize", fields.container_log_max_size);
  out.Number("containerLogMaxFiles", file.container_log_max_files);
  out.Number("containerLogMaxWorkers", file.container_log_max_workers);
  out.Span("containerLogMonitorInterval", file.container_log_monitor_interval);
  out.Text("podLogsDir", file.pod_logs_dir);
  {
    JsonObject logging(out.Member("logging"));
    logging.Text("format", flags.log_format);
    logging.Text("flushFrequency", "5s");
    logging.Number("verbosity", file.log_verbosity);
    JsonObject options(logging.Member("options"));
    for (const char* format : {"text", "json"})
      JsonObject(options.Member(format)).Text("infoBufferSize", "0");
  }
  if (!file.tracing) return;
  JsonObject tracing(out.Member("tracing"));
  tracing.Text("endpoint", file.tracing->endpoint);
  tracing.Number("samplingRatePerMillion", file.tracing->sampling_rate_per_million);
}

void WritePods(JsonObject& out, const KubeletConfig& file, const FileFields& fields) {
  TextIfAny(out, "staticPodPath", file.static_pod_path);
  WriteUrl(out, file);
  out.Span("syncFrequency", file.sync_frequency);
  out.Span("fileCheckFrequency", file.file_check_frequency);
  out.Span("httpCheckFrequency", file.http_check_frequency);
  out.Text("containerRuntimeEndpoint", file.container_runtime_endpoint);
  out.Span("runtimeRequestTimeout", file.runtime_request_timeout);
  out.Number("maxPods", file.max_pods);
  NumberIfAny(out, "podsPerCore", file.pods_per_core);
  out.Number("podPidsLimit", file.pod_pids_limit);
  TextsIfAny(out, "allowedUnsafeSysctls", file.allowed_unsafe_sysctls);
  TextIfAny(out, "clusterDomain", file.cluster_domain);
  TextsIfAny(out, "clusterDNS", file.cluster_dns);
  out.Text("resolvConf", file.resolver_config);
  out.Text("hairpinMode", fields.hairpin_mode);
  out.Flag("seccompDefault", file.seccomp_default);
  out.Span("volumeStatsAggPeriod", fields.volume_stats_period);
  {
    JsonObject crash_loop(out.Member("crashLoopBackOff"));
    crash_loop.Span("maxContainerRestartPeriod", file.crash_loop_max_container_restart_period);
  }
  JsonObject namespaces(out.Member("userNamespaces"));
  namespaces.Number("idsPerPod", file.user_namespace_ids_per_pod);
}

/// "none" if pods have no cgroups.
std::vector<std::string> EnforcedBy(const KubeletConfig& file, bool has_pod_cgroups) {
  using Enforced = KubeletConfig::ReservedCgroup::Enforced;
  std::vector<std::string> kinds;
  if (!has_pod_cgroups) return {"none"};
  if (file.enforce_allocatable) kinds.emplace_back("pods");
  for (const auto& [name, cgroup] : {std::pair{"system-reserved", file.system_reserved_cgroup},
                                     std::pair{"kube-reserved", file.kube_reserved_cgroup}}) {
    if (cgroup.enforced == Enforced::kAll) kinds.emplace_back(name);
    if (cgroup.enforced == Enforced::kCpu) kinds.push_back(fmt::format("{}-compressible", name));
  }
  if (kinds.empty()) kinds.emplace_back("none");
  return kinds;
}

void WriteResources(JsonObject& out, const KubeletConfig& file, const daemon::Flags& flags,
                    const FileFields& fields) {
  const bool has_pod_cgroups = file.HasPodCgroups(!flags.kubeconfig.empty());
  MapIfAny(out, "systemReserved", file.system_reserved);
  MapIfAny(out, "kubeReserved", file.kube_reserved);
  TextIfAny(out, "reservedSystemCPUs", file.reserved_system_cpus);
  TextIfAny(out, "systemReservedCgroup", file.system_reserved_cgroup.path);
  TextIfAny(out, "kubeReservedCgroup", file.kube_reserved_cgroup.path);
  out.Texts("enforceNodeAllocatable", EnforcedBy(file, has_pod_cgroups));
  out.Flag("cgroupsPerQOS", has_pod_cgroups);
  out.Text("cgroupRoot", file.cgroup_root);
  out.Text("cgroupDriver", file.cgroup_driver);
  out.Flag("cpuCFSQuota", file.cpu_cfs_quota);
  out.Span("cpuCFSQuotaPeriod", file.cpu_cfs_quota_period);
  if (file.single_process_oom_kill) out.Flag("singleProcessOOMKill", *file.single_process_oom_kill);
  out.Number("memoryThrottlingFactor", fields.memory_qos.throttling_factor);
  out.Text("memoryReservationPolicy", fields.memory_qos.tiered ? "TieredReservation" : "None");
  if (!file.gates.set().empty()) {
    JsonObject gates(out.Member("featureGates"));
    for (const auto& [name, value] : file.gates.set()) gates.Flag(name, value);
  }
  out.Flag("localStorageCapacityIsolation", file.local_storage_capacity_isolation);
  if (file.kernel_memcg_notification) out.Flag("kernelMemcgNotification", true);
  for (const Constant& constant : kConstants) out.Member(constant.key).Plain(constant.json);
}

void WriteMachine(JsonObject& out, const KubeletConfig& file, const daemon::Flags& flags,
                  const FileFields& fields) {
  const auto& machine = file.machine;
  const bool has_api_server = !flags.kubeconfig.empty();
  out.Flag("failSwapOn", machine.fail_swap_on.value_or(has_api_server));
  out.Flag("failCgroupV1", machine.fail_cgroup_v1);
  out.Flag("makeIPTablesUtilChains",
           machine.set_up.value_or(has_api_server) && machine.iptables_chains.value_or(true));
  out.Number("iptablesMasqueradeBit", fields.masquerade_bit);
  out.Number("iptablesDropBit", fields.drop_bit);
  FlagIfSet(out, "protectKernelDefaults", machine.protect_kernel_defaults.value_or(false));
  JsonObject swap(out.Member("memorySwap"));
  TextIfAny(swap, "swapBehavior", machine.swap_behavior);
}

void WriteProtection(JsonObject& out, const KubeletConfig& file, const FileFields& fields) {
  MapIfAny(out, "evictionHard", file.eviction_hard);
  MapIfAny(out, "evictionSoft", file.eviction_soft);
  MapIfAny(out, "evictionMinimumReclaim", file.eviction_minimum_reclaim);
  std::map<std::string, std::string> graces;
  for (const auto& [signal, grace] : file.eviction_soft_grace_period)
    graces[signal] = kube::FormatDuration(grace.count());
  MapIfAny(out, "evictionSoftGracePeriod", graces);
  NumberIfAny(out, "evictionMaxPodGracePeriod", file.eviction_max_pod_grace_period_seconds);
  out.Span("evictionPressureTransitionPeriod", file.eviction_pressure_transition_period);
  out.Flag("mergeDefaultEvictionSettings", fields.merge_default_eviction);
  out.Span("shutdownGracePeriod", file.shutdown_grace_period);
  out.Span("shutdownGracePeriodCriticalPods", file.shutdown_grace_period_critical_pods);
  if (file.shutdown_grace_period_by_pod_priority.empty()) return;
  kube::JsonWriter& writer = out.Member("shutdownGracePeriodByPodPriority");
  writer.BeginList();
  for (const auto& group : file.shutdown_grace_period_by_pod_priority) {
    JsonObject each(writer);
    each.Number("priority", group.priority);
    each.Number("shutdownGracePeriodSeconds", group.seconds);
  }
  writer.EndList();
}

}  // namespace

std::string ConfigzText(const KubeletConfig& file, const daemon::Flags& flags,
                        const FileFields& fields) {
  kube::JsonWriter writer(0);
  {
    JsonObject top(writer);
    JsonObject out(top.Member("kubeletconfig"));
    out.Text("kind", "KubeletConfiguration");
    out.Text("apiVersion", "kubelet.config.k8s.io/v1beta1");
    WriteServer(out, file.server, fields);
    WriteApi(out, file.api);
    WritePods(out, file, fields);
    WriteImages(out, file);
    WriteLogs(out, file, flags, fields);
    WriteResources(out, file, flags, fields);
    WriteMachine(out, file, flags, fields);
    WriteProtection(out, file, fields);
  }
  return writer.Take();
}

}  // namespace splitlet::node_api
