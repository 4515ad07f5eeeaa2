#include "services/status/config.h"

#include <algorithm>

#include "libs/base/processes.h"
#include "libs/config/kubelet_config.h"

namespace splitlet::status {

std::map<std::string, Duration> HealthLimits() {
  std::map<std::string, Duration> limits;
  for (const ProcessRow& row : kProcesses)
    if (row.health_limit > Duration{0}) limits.emplace(row.name, row.health_limit);
  return limits;
}

namespace {

std::vector<std::string> DeclaredFeatures(const config::FeatureGates& gates) {
  const bool declared = gates.Enabled("NodeDeclaredFeatures") &&
                        gates.Enabled("ContainerRestartRules") && gates.Enabled(kDeclaredFeature);
  if (!declared) return {};
  return {std::string(kDeclaredFeature)};
}

}  // namespace

StatusConfig LoadStatusConfig(const config::KubeletConfig& file, const daemon::Flags& flags) {
  StatusConfig config;
  config.node_name = flags.node_name;
  config.root_dir = flags.root_dir;
  config.run_dir = flags.run_dir;
  config.node_ips = flags.node_ips;
  config.limits = {.max_pods = file.max_pods,
                   .pods_per_core = file.pods_per_core,
                   .system_reserved = file.system_reserved,
                   .kube_reserved = file.kube_reserved,
                   .reserved_cpus = file.reserved_system_cpus,
                   .eviction_hard = file.EvictionOfAllocatable()};
  config.in_cluster = !flags.kubeconfig.empty();
  config.node = {.name = flags.node_name,
                 .provider_id = file.api.provider_id,
                 .external_cloud = flags.cloud_provider == "external",
                 .attach_detach = file.api.attach_detach_controller,
                 .node_ips = flags.node_ips,
                 .labels = flags.node_labels,
                 .taints = file.api.register_with_taints,
                 .port = file.server.enabled ? file.server.port : 0,
                 .max_images = file.api.status_max_images,
                 .declared_features = DeclaredFeatures(file.gates)};
  config.sandbox_condition = file.gates.Enabled("PodReadyToStartContainersCondition");
  config.register_node = file.api.register_node;
  config.status_update_frequency = file.api.status_update_frequency;
  config.status_report_frequency = file.api.status_report_frequency;
  config.lease_duration_seconds = file.api.lease_duration_seconds;
  config.api_timeout = std::min(config.status_update_frequency,
                                Duration{std::chrono::seconds{config.lease_duration_seconds}});
  config.api_content = daemon::ApiContentOf(file);
  config.api_rate = daemon::ApiRateOf(file.api.qps, file.api.burst);
  config.event_rate = daemon::ApiRateOf(file.api.event_qps, file.api.event_burst);
  config.identity = {.node_name = flags.node_name,
                     .kubeconfig = flags.kubeconfig,
                     .bootstrap_kubeconfig = flags.bootstrap_kubeconfig,
                     .cert_dir = flags.cert_dir,
                     .rotate = file.api.rotate_certificates,
                     .server_bootstrap = file.server.enabled && file.api.server_tls_bootstrap,
                     .self_signed = file.server.enabled && file.server.tls_cert_file.empty() &&
                                    !file.api.server_tls_bootstrap,
                     .for_group = !file.splitlet.users.empty()};
  return config;
}

}  // namespace splitlet::status
