#pragma once

/// The Node of the API as this node makes it: when it registers, and each time it reports. Pure.
/// What others write is left alone: conditions, resources and labels that are not this node's.
/// Threads: any.
/// Errors: none.
/// Units: as the names say.
/// Source: docs/behaviour/node.md, "At the API server"; kubelet initialNode, nodestatus setters.

#include <cstdint>
#include <map>
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

/// The kubelet whose behaviour this is; what the server and its clients compare versions with.
using kube::kKubeletVersion;

inline constexpr std::string_view kAttachDetachAnnotation =
    "volumes.kubernetes.io/controller-managed-attach-detach";
inline constexpr std::string_view kProvidedNodeIpAnnotation =
    "alpha.kubernetes.io/provided-node-ip";
inline constexpr std::string_view kExternalCloudTaint =
    "node.cloudprovider.kubernetes.io/uninitialized";

/// What is known of this node at one time.
struct NodeObservation {
  v1::NodeRecord record;
  node::SystemInfo system;
  int64_t swap_bytes = 0;
  std::string runtime_version;  // "containerd://1.6.20"; empty: not known yet
  std::optional<std::vector<peers::NodeImage>> images;  // none: not known
  /// Nobody could be asked yet whether this node is ready: what the server says stands.
  bool readiness_unknown = false;
  WallTime now;
};

/// The labels that a new node of these settings has.
std::map<std::string, std::string> InitialLabels(const NodeSettings& settings);

kube::Node MakeInitialNode(const NodeSettings& settings, const NodeObservation& facts);

/// All that this node reports of itself again and again.
void UpdateNode(const NodeSettings& settings, const NodeObservation& facts, kube::Node& node);

/// What registration corrects in a node that is there already. `reset_extended`: extended resources
/// become 0, because the devices behind them are not known to anybody here.
void ReconcileNode(const kube::Node& initial, bool reset_extended, kube::Node& existing);

}  // namespace splitlet::status
