#pragma once

/// A driver's account of this node: the input of the Node's and CSINode's content.
/// Threads: values and pure functions, any.
/// Errors: INVALID_ARGUMENT: no id, or a topology that cannot become labels.
/// Source: CSI, NodeGetInfo; kubelet nodeinfomanager.

#include <cstdint>
#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/csi/string_map.h"

namespace csi::v1 {
class NodeGetInfoResponse;
}

namespace splitlet::csi {

struct NodeInfo {
  std::string node_id;
  int64_t max_volumes = 0;  // 0: the driver names no limit
  StringMap topology;       // a label of the Node each

  bool operator==(const NodeInfo&) const = default;
};

StatusOr<NodeInfo> ReadNodeInfo(const ::csi::v1::NodeGetInfoResponse& response);

/// allocatable.count of the driver in CSINode; unset: none. A limit above 2147483647 counts as
/// that.
std::optional<int32_t> AllocatableCount(int64_t max_volumes);

}  // namespace splitlet::csi
