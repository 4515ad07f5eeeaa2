#pragma once

/// Settings of node-api, from flags and the KubeletConfiguration.
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
  std::string cert_dir;  // folder of the node's own certificates
  config::KubeletConfig::Server server;
  Handlers handlers;
  config::FeatureGates gates;
  bool has_api_server = false;  // reviews of tokens and rights are possible
  Duration sync_loop_limit{0};  // /healthz fails if sync-loop is silent for longer
  std::string node_logs_dir = "/var/log";
  std::string pod_logs_dir = "/var/log/pods";
  std::string configz;                              // answer of /configz
  std::map<std::string, std::string> flags;         // shown by /flagz
  std::pair<std::string, std::string> certificate;  // paths of the served certificate and its key
  bool reload_certificate = true;                   // reads the certificate again when its file
                                                    // changes
  /// For this long after a start a missing certificate is no problem, because status creates it. 0:
  /// the certificate is configured.
  Duration certificate_patience{0};
};

/// `content`: text of the configuration file, for fields that only node-api reads; empty: no file.
StatusOr<NodeApiConfig> LoadNodeApiConfig(const config::KubeletConfig& file,
                                          const daemon::Flags& flags, const std::string& content);

}  // namespace splitlet::node_api
