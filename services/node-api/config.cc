#include "services/node-api/config.h"

#include <algorithm>

#include "libs/daemon/service.h"
#include "services/node-api/pages/configz.h"
#include "services/node-api/pages/file_fields.h"

namespace splitlet::node_api {
namespace {

constexpr Duration kShortestLimit = std::chrono::minutes{5};

/// With serverTLSBootstrap, the certificate that the API server signs, even before it exists;
/// otherwise the configured one; otherwise the node's own.
std::pair<std::string, std::string> CertificateOf(const config::KubeletConfig& file,
                                                  const std::string& cert_dir) {
  const auto& server = file.server;
  const std::string current = cert_dir + "/kubelet-server-current.pem";
  if (file.api.server_tls_bootstrap) return {current, current};
  if (!server.tls_cert_file.empty() || !server.tls_key_file.empty())
    return {server.tls_cert_file, server.tls_key_file};
  return {cert_dir + "/kubelet.crt", cert_dir + "/kubelet.key"};
}

/// Without the feature gate a configured certificate is read once; the node's own certificates are
/// renewed.
bool ReloadsCertificate(const config::KubeletConfig& file) {
  const bool given = !file.api.server_tls_bootstrap && !file.server.tls_cert_file.empty();
  return !given || file.gates.Enabled("ReloadKubeletServerCertificateFile");
}

/// Like status, waits this long before it logs, because the signer or the node's addresses may be
/// late.
Duration CertificatePatience(const config::KubeletConfig& file) {
  if (file.api.server_tls_bootstrap) return std::chrono::minutes{15};
  const bool given = !file.server.tls_cert_file.empty() || !file.server.tls_key_file.empty();
  return given ? Duration{0} : std::chrono::seconds{30};
}

/// With a kubelet's names.
std::map<std::string, std::string> FlagsOf(const daemon::Flags& flags) {
  std::string node_ips;
  for (const std::string& ip : flags.node_ips) node_ips += (node_ips.empty() ? "" : ",") + ip;
  std::string labels;
  for (const auto& [name, value] : flags.node_labels)
    labels += (labels.empty() ? "" : ",") + name + "=" + value;
  return {{"bootstrap-kubeconfig", flags.bootstrap_kubeconfig},
          {"cert-dir", flags.cert_dir},
          {"cloud-provider", flags.cloud_provider},
          {"config", flags.config_file},
          {"hostname-override", flags.node_name},
          {"image-credential-provider-bin-dir", flags.credential_provider_bin_dir},
          {"image-credential-provider-config", flags.credential_provider_config},
          {"kubeconfig", flags.kubeconfig},
          {"node-ip", node_ips},
          {"node-labels", labels},
          {"root-dir", flags.root_dir}};
}

}  // namespace

StatusOr<NodeApiConfig> LoadNodeApiConfig(const config::KubeletConfig& file,
                                          const daemon::Flags& flags, const std::string& content) {
  const auto& server = file.server;
  if (server.authorization != "Webhook" && server.authorization != "AlwaysAllow")
    return InvalidArgument("authorization.mode: unknown authorization mode {}",
                           server.authorization);
  if (server.enabled && server.client_ca_file.empty() && !server.webhook_authentication &&
      !server.anonymous)
    return InvalidArgument("authentication: no authentication method configured");
  ASSIGN_OR_RETURN(const FileFields fields, ReadFileFields(content), "{}", flags.config_file);
  return NodeApiConfig{.node_name = flags.node_name,
                       .cert_dir = flags.cert_dir,
                       .server = server,
                       .handlers = {.debugging = server.debugging_handlers,
                                    .system_logs = server.system_log_handler,
                                    .profiles = fields.profiling_handler,
                                    .flags = fields.debug_flags_handler,
                                    .flagz = file.gates.Enabled("ComponentFlagz"),
                                    .statusz = file.gates.Enabled("ComponentStatusz"),
                                    .checkpoint = file.gates.Enabled("ContainerCheckpoint")},
                       .gates = file.gates,
                       .has_api_server = !flags.kubeconfig.empty(),
                       .sync_loop_limit = std::max(2 * file.sync_frequency, kShortestLimit),
                       .pod_logs_dir = file.pod_logs_dir,
                       .configz = ConfigzText(file, flags, fields),
                       .flags = FlagsOf(flags),
                       .certificate = CertificateOf(file, flags.cert_dir),
                       .reload_certificate = ReloadsCertificate(file),
                       .certificate_patience = CertificatePatience(file)};
}

}  // namespace splitlet::node_api
