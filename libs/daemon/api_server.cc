#include "libs/daemon/api_server.h"

#include <fmt/format.h>

#include <utility>

#include "libs/apiclient/connect.h"
#include "libs/apiclient/limited_transport.h"
#include "libs/config/kubelet_config.h"
#include "libs/kube/kubelet_version.h"
#include "libs/node/machine.h"

namespace splitlet::daemon {
namespace {

// Source: client-go rest DefaultQPS and DefaultBurst.
constexpr double kDefaultQps = 5;
constexpr int kDefaultBurst = 10;
/// A signer that approves automatically answers long before this.
constexpr Duration kBootstrapPatience = std::chrono::seconds{30};

}  // namespace

std::string UserAgentOf(std::string_view process) {
  return fmt::format("kubelet/{} (linux/{}) splitlet-{}", kube::kKubeletVersion,
                     node::Architecture(), process);
}

apiclient::ContentType ApiContentOf(const config::KubeletConfig& config) {
  return config.api.content_type == apiclient::kJsonType ? apiclient::ContentType::kJson
                                                         : apiclient::ContentType::kProtobuf;
}

ApiRate ApiRateOf(int32_t qps, int32_t burst) {
  return {.qps = qps > 0 ? qps : kDefaultQps, .burst = burst > 0 ? burst : kDefaultBurst};
}

std::string RotatedCertificateOf(const config::KubeletConfig& config, const std::string& cert_dir) {
  return config.api.rotate_certificates ? cert_dir + "/kubelet-client-current.pem" : std::string();
}

StatusOr<std::unique_ptr<apiclient::Transport>> ConnectApi(ServiceContext& context,
                                                           ApiPurpose purpose) {
  const Flags& flags = context.flags();
  if (purpose.kubeconfig.empty()) purpose.kubeconfig = flags.kubeconfig;
  if (purpose.kubeconfig.empty()) return std::unique_ptr<apiclient::Transport>();
  // A node without a certificate comes with the bootstrap kubeconfig.
  const bool own = purpose.kubeconfig == flags.kubeconfig;
  const bool bootstraps = own && !flags.bootstrap_kubeconfig.empty();
  ASSIGN_OR_RETURN(
      auto transport,
      apiclient::Connect(
          {.clock = context.clock(),
           .files = context.files(),
           .log = context.log(),
           .kubeconfig = std::move(purpose.kubeconfig),
           .user_agent = UserAgentOf(flags.process),
           .rotated_certificate =
               own ? RotatedCertificateOf(context.config(), flags.cert_dir) : std::string(),
           .plugin_metrics = std::make_shared<apiclient::PluginMetrics>(context.metrics()),
           .made_within = bootstraps ? kBootstrapPatience : Duration{0}}),
      "API server");
  if (!purpose.limited) return transport;
  const auto& api = context.config().api;
  const ApiRate rate = ApiRateOf(api.qps, api.burst);
  return std::make_unique<apiclient::LimitedTransport>(
      std::move(transport), context.loop(),
      std::make_unique<apiclient::RateLimiter>(context.clock(), rate.qps, rate.burst));
}

}  // namespace splitlet::daemon
