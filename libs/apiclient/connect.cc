#include "libs/apiclient/connect.h"

#include <unistd.h>

#include <utility>

#include "libs/apiclient/https_transport.h"
#include "libs/apiclient/kubeconfig.h"

namespace splitlet::apiclient {

StatusOr<std::unique_ptr<Transport>> Connect(ConnectOptions options) {
  ASSIGN_OR_RETURN(const http::CurlLibrary* const curl, http::LoadCurl(), "API server");
  const auto config = LoadKubeconfig(options.files, options.kubeconfig, ::geteuid());
  if (config.status().code() == StatusCode::kInvalidArgument) return config.status();
  return std::make_unique<HttpsTransport>(
      HttpsTransport::Deps{.clock = options.clock,
                           .files = options.files,
                           .log = options.log,
                           .curl = *curl,
                           .run = process::RunProgram,
                           .plugin_metrics = std::move(options.plugin_metrics)},
      HttpsTransport::Options{.kubeconfig = std::move(options.kubeconfig),
                              .user_agent = std::move(options.user_agent),
                              .rotated_certificate = std::move(options.rotated_certificate),
                              .made_within = options.made_within});
}

}  // namespace splitlet::apiclient
