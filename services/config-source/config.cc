#include "services/config-source/config.h"

#include "libs/config/kubelet_config.h"
#include "libs/daemon/api_server.h"

namespace splitlet::config_source {

namespace {

kube::GatesOff GatesOffOf(const config::FeatureGates& gates) {
  return {.restart_rules = !gates.Enabled("ContainerRestartRules"),
          .restart_all = !gates.Enabled("RestartAllContainersOnContainerExits"),
          .env_files = !gates.Enabled("EnvFiles"),
          .hostname_override = !gates.Enabled("HostnameOverride"),
          .stop_signals = !gates.Enabled("ContainerStopSignals")};
}

}  // namespace

StatusOr<ConfigSourceConfig> LoadConfigSourceConfig(const config::KubeletConfig& file,
                                                    const daemon::Flags& flags) {
  ConfigSourceConfig config{.node_name = flags.node_name,
                            .static_pod_path = file.static_pod_path,
                            .file_check_frequency = file.file_check_frequency,
                            .static_pod_url = file.static_pod_url,
                            .static_pod_url_header = file.static_pod_url_header,
                            .http_check_frequency = file.http_check_frequency,
                            .records_directory = flags.state_dir + "/config-source",
                            .has_objects = !file.splitlet.objects_path.empty(),
                            .kubeconfig = flags.kubeconfig,
                            .api_content = daemon::ApiContentOf(file),
                            .gates_off = GatesOffOf(file.gates),
                            .offline_start = file.splitlet.offline_start};
  if (!flags.manifests.empty()) config.static_pod_path = flags.manifests;
  while (config.static_pod_path.size() > 1 && config.static_pod_path.ends_with('/'))
    config.static_pod_path.pop_back();
  if (config.node_name.empty()) return InvalidArgument("--node-name: must not be empty");
  if (config.file_check_frequency <= Duration{0})
    return InvalidArgument("fileCheckFrequency: must be greater than 0");
  if (config.http_check_frequency <= Duration{0})
    return InvalidArgument("httpCheckFrequency: must be greater than 0");
  return config;
}

}  // namespace splitlet::config_source
