#pragma once

/// What node-api takes from flags and KubeletConfiguration.
/// Threads: values.
/// Errors: INVALID_ARGUMENT with key and reason.
/// Source: docs/behaviour/node-api.md, "Settings".

#include <map>
#include <string>
#include <utility>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/config/kubelet_config.h"
#include "services/node-api/http/routes.h"

namespace splitlet::daemon {
struct Flags;
}

namespace splitlet::node_api {

struct NodeApiConfig {
  std::string node_name;
  std::string cert_dir;  // of this node's own certificate
  config::KubeletConfig::Server server;
  Handlers handlers;
  config::FeatureGates gates;
  bool has_api_server = false;  // who could be asked about tokens and rights
  Duration sync_loop_limit{0};  // it may keep silent so long, then /healthz is red
  std::string node_logs_dir = "/var/log";
  std::string pod_logs_dir = "/var/log/pods";
  std::string configz;                              // what /configz answers
  std::map<std::string, std::string> flags;         // what /flagz shows
  std::pair<std::string, std::string> certificate;  // that is served, and its key: paths
  bool reload_certificate = true;                   // when its file changes
  /// In which time after a start status makes the certificate, or says why not; 0: it is given.
  Duration certificate_patience{0};
};

/// `content`: of the file, for what nobody else asks it; empty: there is none.
StatusOr<NodeApiConfig> LoadNodeApiConfig(const config::KubeletConfig& file,
                                          const daemon::Flags& flags, const std::string& content);

}  // namespace splitlet::node_api
