#include "libs/csi/capabilities.h"

#include "csi/v1/csi.pb.h"

namespace splitlet::csi {

NodeCapabilities ReadCapabilities(const v1::NodeGetCapabilitiesResponse& response) {
  NodeCapabilities read;
  for (const auto& capability : response.capabilities()) {
    const int type = capability.rpc().type();
    if (type >= static_cast<int>(NodeCapability::kStageUnstageVolume) &&
        type <= static_cast<int>(NodeCapability::kVolumeMountGroup))
      read.Add(static_cast<NodeCapability>(type));
  }
  return read;
}

}  // namespace splitlet::csi
