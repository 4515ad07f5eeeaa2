#include "libs/csi/node_info.h"

#include <algorithm>
#include <limits>

#include "csi/v1/csi.pb.h"
#include "libs/base/text.h"
#include "libs/kube/names.h"

namespace splitlet::csi {
namespace {

constexpr int kMaxSegments = 64;

}  // namespace

StatusOr<NodeInfo> ReadNodeInfo(const ::csi::v1::NodeGetInfoResponse& response) {
  if (response.node_id().empty())
    return InvalidArgument("error adding CSI driver node info: driverNodeID must not be empty");
  if (response.node_id().size() > kMaxTextBytes || !IsText(response.node_id()))
    return InvalidArgument("the driver's id of this node is no text of at most {} bytes",
                           kMaxTextBytes);
  const auto& segments = response.accessible_topology().segments();
  if (segments.size() > kMaxSegments)
    return InvalidArgument("{} topology segments, at most {}", segments.size(), kMaxSegments);
  NodeInfo info{.node_id = response.node_id(), .max_volumes = response.max_volumes_per_node()};
  info.topology.insert(segments.begin(), segments.end());
  for (const auto& [key, value] : info.topology) {
    if (const std::string wrong = kube::CheckQualifiedName(key); !wrong.empty())
      return InvalidArgument("topology segment \"{}\": {}", key, wrong);
    if (const std::string wrong = kube::CheckLabelValue(value); !wrong.empty())
      return InvalidArgument("topology segment \"{}\": \"{}\": {}", key, value, wrong);
  }
  return info;
}

std::optional<int32_t> AllocatableCount(int64_t max_volumes) {
  if (max_volumes <= 0) return std::nullopt;
  return static_cast<int32_t>(std::min<int64_t>(max_volumes, std::numeric_limits<int32_t>::max()));
}

}  // namespace splitlet::csi
