#pragma once

/// The capabilities that a driver reports for its node service.
/// Threads: values, any; nothing fails.
/// Source: CSI, NodeGetCapabilities.

#include <cstdint>
#include <initializer_list>

namespace csi::v1 {
class NodeGetCapabilitiesResponse;
}

namespace splitlet::csi {

namespace v1 = ::csi::v1;

/// CSI's names and numbers.
enum class NodeCapability {
  kStageUnstageVolume = 1,
  kGetVolumeStats = 2,
  kExpandVolume = 3,
  kVolumeCondition = 4,
  kSingleNodeMultiWriter = 5,
  kVolumeMountGroup = 6,
};

class NodeCapabilities {
 public:
  NodeCapabilities() = default;
  NodeCapabilities(std::initializer_list<NodeCapability> all) {
    for (const NodeCapability one : all) Add(one);
  }
  void Add(NodeCapability one) { bits_ |= 1u << static_cast<unsigned>(one); }
  bool Has(NodeCapability one) const { return (bits_ & 1u << static_cast<unsigned>(one)) != 0; }
  bool operator==(const NodeCapabilities&) const = default;

 private:
  uint32_t bits_ = 0;
};

/// Skips capabilities of a newer CSI.
NodeCapabilities ReadCapabilities(const v1::NodeGetCapabilitiesResponse& response);

}  // namespace splitlet::csi
