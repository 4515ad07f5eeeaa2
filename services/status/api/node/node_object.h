#pragma once

/// Builds the Node object of this node for its registration and for each report. Pure.
/// Conditions, resources and labels that other clients own stay unchanged.
/// Threads: any.
/// Errors: none.
/// Units: bytes; see names.
/// Source: docs/behaviour/node.md, "At the API server"; kubelet initialNode, nodestatus setters.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/kubelet_version.h"
#include "libs/kube/pod_types.h"
#include "libs/node/system_info.h"
#include "libs/peers/node_images.h"
#include "services/status/node_settings.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// The version of the kubelet that this program behaves as; clients compare it with the server's.
using kube::kKubeletVersion;

inline constexpr std::string_view kAttachDetachAnnotation =
    "volumes.kubernetes.io/controller-managed-attach-detach";
inline constexpr std::string_view kProvidedNodeIpAnnotation =
    "alpha.kubernetes.io/provided-node-ip";
inline constexpr std::string_view kExternalCloudTaint =
    "node.cloudprovider.kubernetes.io/uninitialized";

/// The state of this node at one moment.
struct NodeObservation {
  v1::NodeRecord record;
  node::SystemInfo system;
  int64_t swap_bytes = 0;
  std::string runtime_version;                          // "containerd://1.6.20"; empty: unknown
  std::optional<std::vector<peers::NodeImage>> images;  // nothing: unknown
  /// The runtime could not be asked yet, so that the server's condition Ready stands.
  bool readiness_unknown = false;
  /// Sorted and unique; no value: not known yet, so that the list of the Node stands.
  std::optional<std::vector<std::string>> volumes_in_use;
  WallTime now;
};

kube::Node MakeInitialNode(const NodeSettings& settings, const NodeObservation& observed);

/// Sets everything that this node reports in each round.
void UpdateNode(const NodeSettings& settings, const NodeObservation& observed, kube::Node& node);

/// Corrects an existing Node at registration. `reset_extended`: extended resources become 0,
/// because no device manager of this boot vouches for their devices.
void ReconcileNode(const kube::Node& initial, bool reset_extended, kube::Node& existing);

}  // namespace splitlet::status
