#pragma once

/// Settings of the Node object, from flags and configuration.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/node.md, "At the API server".

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libs/config/kubelet_config.h"

namespace splitlet::status {

/// A feature that schedulers ask for and this program has.
inline constexpr std::string_view kDeclaredFeature = "RestartAllContainersOnContainerExits";

struct NodeSettings {
  std::string name, provider_id;
  bool external_cloud = false, attach_detach = true;
  std::vector<std::string> node_ips;          // --node-ip
  std::map<std::string, std::string> labels;  // --node-labels
  std::vector<config::NodeTaint> taints;      // registerWithTaints
  int32_t port = 0;                           // of the kubelet's API; 0: not served
  int32_t max_images = 50;                    // -1: no limit
  std::vector<std::string> declared_features = {std::string(kDeclaredFeature)};
};

/// Labels of a new node.
std::map<std::string, std::string> InitialLabels(const NodeSettings& settings);

}  // namespace splitlet::status
