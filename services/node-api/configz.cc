#include "services/node-api/configz.h"

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"
#include "services/node-api/json.h"

namespace splitlet::node_api {
namespace {

using config::KubeletConfig;

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
    if (!server.client_ca_file.empty()) x509.Text("clientCAFile", server.client_ca_file);
  }
  JsonObject authorization(out.Member("authorization"));
  authorization.Text("mode", server.authorization);
  JsonObject webhook(authorization.Member("webhook"));
  webhook.Span("cacheAuthorizedTTL", server.authorized_ttl);
  webhook.Span("cacheUnauthorizedTTL", server.unauthorized_ttl);
}

void WriteServer(JsonObject& out, const KubeletConfig::Server& server) {
  out.Flag("enableServer", server.enabled);
  out.Text("address", server.address);
  out.Number("port", server.port);
  if (server.read_only_port != 0) out.Number("readOnlyPort", server.read_only_port);
  out.Number("healthzPort", server.healthz_port);
  out.Text("healthzBindAddress", server.healthz_address);
  if (!server.tls_cert_file.empty()) out.Text("tlsCertFile", server.tls_cert_file);
  if (!server.tls_key_file.empty()) out.Text("tlsPrivateKeyFile", server.tls_key_file);
  if (!server.tls_cipher_suites.empty()) out.Texts("tlsCipherSuites", server.tls_cipher_suites);
  out.Text("tlsMinVersion", server.tls_min_version);
  out.Flag("enableDebuggingHandlers", server.debugging_handlers);
  out.Flag("enableSystemLogHandler", server.system_log_handler);
  out.Flag("enableSystemLogQuery", server.system_log_query);
  out.Span("streamingConnectionIdleTimeout", server.stream_idle_timeout);
  WriteAuthentication(out, server);
}

void WriteApi(JsonObject& out, const KubeletConfig::Api& api) {
  out.Text("contentType",
           api.content_type.empty() ? "application/vnd.kubernetes.protobuf" : api.content_type);
  out.Number("kubeAPIQPS", api.qps);
  out.Number("kubeAPIBurst", api.burst);
  out.Number("eventRecordQPS", api.event_qps);
  out.Number("eventBurst", api.event_burst);
  out.Flag("registerNode", api.register_node);
  if (!api.provider_id.empty()) out.Text("providerID", api.provider_id);
  if (!api.pod_cidr.empty()) out.Text("podCIDR", api.pod_cidr);
  out.Span("nodeStatusUpdateFrequency", api.status_update_frequency);
  out.Span("nodeStatusReportFrequency", api.status_report_frequency);
  out.Number("nodeLeaseDurationSeconds", api.lease_duration_seconds);
  out.Number("nodeStatusMaxImages", api.status_max_images);
  out.Text("configMapAndSecretChangeDetectionStrategy", api.change_detection);
  out.Flag("enableControllerAttachDetach", api.attach_detach_controller);
  out.Flag("rotateCertificates", api.rotate_certificates);
  out.Flag("serverTLSBootstrap", api.server_tls_bootstrap);
}

void WritePods(JsonObject& out, const KubeletConfig& file) {
  out.Text("staticPodPath", file.static_pod_path);
  out.Text("staticPodURL", file.static_pod_url);
  out.Span("syncFrequency", file.sync_frequency);
  out.Span("fileCheckFrequency", file.file_check_frequency);
  out.Span("httpCheckFrequency", file.http_check_frequency);
  out.Text("containerRuntimeEndpoint", file.container_runtime_endpoint);
  out.Span("runtimeRequestTimeout", file.runtime_request_timeout);
  out.Number("maxPods", file.max_pods);
  out.Number("podsPerCore", file.pods_per_core);
  out.Number("podPidsLimit", file.pod_pids_limit);
  out.Number("registryPullQPS", file.registry_pull_qps);
  out.Number("registryBurst", file.registry_burst);
  out.Flag("serializeImagePulls", file.serialize_image_pulls);
  if (file.max_parallel_image_pulls > 0)
    out.Number("maxParallelImagePulls", file.max_parallel_image_pulls);
  out.Texts("allowedUnsafeSysctls", file.allowed_unsafe_sysctls);
  out.Text("clusterDomain", file.cluster_domain);
  out.Texts("clusterDNS", file.cluster_dns);
  out.Text("resolvConf", file.resolver_config);
  out.Text("containerLogMaxSize", fmt::format("{}", file.container_log_max_size_bytes));
  out.Number("containerLogMaxFiles", file.container_log_max_files);
  out.Number("containerLogMaxWorkers", file.container_log_max_workers);
  out.Span("containerLogMonitorInterval", file.container_log_monitor_interval);
  out.Text("podLogsDir", file.pod_logs_dir);
  out.Flag("seccompDefault", file.seccomp_default);
}

void WriteNode(JsonObject& out, const KubeletConfig& file) {
  out.Map("systemReserved", file.system_reserved);
  out.Map("kubeReserved", file.kube_reserved);
  if (!file.reserved_system_cpus.empty()) out.Text("reservedSystemCPUs", file.reserved_system_cpus);
  out.Flag("cgroupsPerQOS", file.cgroups_per_qos);
  out.Text("cgroupRoot", file.cgroup_root);
  out.Text("cgroupDriver", file.cgroup_driver);
  out.Flag("cpuCFSQuota", file.cpu_cfs_quota);
  out.Span("cpuCFSQuotaPeriod", file.cpu_cfs_quota_period);
  out.Span("imageMinimumGCAge", file.image_minimum_gc_age);
  out.Span("imageMaximumGCAge", file.image_maximum_gc_age);
  out.Number("imageGCHighThresholdPercent", file.image_gc_high_threshold_percent);
  out.Number("imageGCLowThresholdPercent", file.image_gc_low_threshold_percent);
  out.Map("evictionHard", file.eviction_hard);
  out.Map("evictionSoft", file.eviction_soft);
  out.Map("evictionMinimumReclaim", file.eviction_minimum_reclaim);
  std::map<std::string, std::string> graces;
  for (const auto& [signal, grace] : file.eviction_soft_grace_period)
    graces[signal] = kube::FormatDuration(grace.count());
  out.Map("evictionSoftGracePeriod", graces);
  out.Number("evictionMaxPodGracePeriod", file.eviction_max_pod_grace_period_seconds);
  out.Span("evictionPressureTransitionPeriod", file.eviction_pressure_transition_period);
  out.Span("shutdownGracePeriod", file.shutdown_grace_period);
  out.Span("shutdownGracePeriodCriticalPods", file.shutdown_grace_period_critical_pods);
  out.Flag("localStorageCapacityIsolation", file.local_storage_capacity_isolation);
}

}  // namespace

std::string ConfigzText(const KubeletConfig& file, const daemon::Flags& flags) {
  kube::JsonWriter writer(0);
  {
    JsonObject top(writer);
    JsonObject out(top.Member("kubeletconfig"));
    out.Text("kind", "KubeletConfiguration");
    out.Text("apiVersion", "kubelet.config.k8s.io/v1beta1");
    WriteServer(out, file.server);
    WriteApi(out, file.api);
    WritePods(out, file);
    WriteNode(out, file);
    JsonObject logging(out.Member("logging"));
    logging.Text("format", flags.log_format);
    logging.Number("verbosity", file.log_verbosity);
  }
  return writer.Take();
}

}  // namespace splitlet::node_api
