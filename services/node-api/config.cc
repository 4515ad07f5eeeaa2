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
                       .certificates = CertificatesOf(server, flags.cert_dir)};
}

}  // namespace splitlet::node_api
