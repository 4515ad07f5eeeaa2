#include "services/node-api/config.h"

#include <algorithm>

#include "libs/daemon/service.h"
#include "services/node-api/configz.h"

namespace splitlet::node_api {
namespace {

constexpr Duration kShortestLimit = std::chrono::minutes{5};

/// In the order in which they are looked for: one that the API server has signed, one of our own.
std::vector<std::pair<std::string, std::string>> CertificatesOf(
    const config::KubeletConfig::Server& server, const std::string& cert_dir) {
  if (!server.tls_cert_file.empty() || !server.tls_key_file.empty())
    return {{server.tls_cert_file, server.tls_key_file}};
  const std::string current = cert_dir + "/kubelet-server-current.pem";
  return {{current, current}, {cert_dir + "/kubelet.crt", cert_dir + "/kubelet.key"}};
}

/// Under a kubelet's names.
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
                                          const daemon::Flags& flags) {
  const auto& server = file.server;
  if (server.authorization != "Webhook" && server.authorization != "AlwaysAllow")
    return InvalidArgument("authorization.mode: unknown authorization mode {}",
                           server.authorization);
  if (server.enabled && server.client_ca_file.empty() && !server.webhook_authentication &&
      !server.anonymous)
    return InvalidArgument("authentication: no authentication method configured");
  return NodeApiConfig{.node_name = flags.node_name,
                       .cert_dir = flags.cert_dir,
                       .server = server,
                       .has_api_server = !flags.kubeconfig.empty(),
                       .sync_loop_limit = std::max(2 * file.sync_frequency, kShortestLimit),
                       .configz = ConfigzText(file, flags),
                       .flags = FlagsOf(flags),
                       .certificates = CertificatesOf(server, flags.cert_dir)};
}

}  // namespace splitlet::node_api
