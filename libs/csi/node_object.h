#pragma once

/// The drivers in the Node object: an annotation with their ids of this node, and a label for each
/// segment of their topology. Labels stay when a driver goes.
/// Threads: pure functions, any.
/// Errors: texts are the kubelet's; an error leaves the Node as it is.
/// Source: kubelet nodeinfomanager updateNodeIDInNode and updateTopologyLabels.

#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/csi/string_map.h"

namespace splitlet::csi {

inline constexpr const char* kNodeIdAnnotation = "csi.volume.kubernetes.io/nodeid";

/// The annotation with the driver in it; `annotation` is "" when the Node has none.
StatusOr<std::string> AddNodeId(const std::string& annotation, const std::string& driver,
                                const std::string& node_id);
/// The annotation without the driver; unset: it goes with its last driver.
StatusOr<std::optional<std::string>> RemoveNodeId(const std::string& annotation,
                                                  const std::string& driver);

/// The labels that the Node lacks. INVALID_ARGUMENT: the Node has a label with another value.
StatusOr<StringMap> MissingTopologyLabels(const StringMap& labels, const StringMap& topology);

}  // namespace splitlet::csi
