#pragma once

/// Usage of a volume, as its driver reports it.
/// Threads: values and pure functions, any.
/// Errors: INTERNAL: the driver reports no usage.
/// Units: bytes; inodes are counts.
/// Source: CSI, NodeGetVolumeStats; kubelet csi_metrics.

#include <cstdint>
#include <optional>
#include <string>

#include "libs/base/status.h"

namespace csi::v1 {
class NodeGetVolumeStatsResponse;
}

namespace splitlet::csi {

struct VolumeUsage {
  int64_t available = 0, total = 0, used = 0;  // never negative
  bool operator==(const VolumeUsage&) const = default;
};

struct VolumeStats {
  std::optional<VolumeUsage> bytes, inodes;
  /// Set: the driver reports that the volume has a fault, and this text.
  std::optional<std::string> abnormal;
  bool operator==(const VolumeStats&) const = default;
};

/// The last usage of a unit counts; unknown units are skipped.
StatusOr<VolumeStats> ReadVolumeStats(const ::csi::v1::NodeGetVolumeStatsResponse& response);

}  // namespace splitlet::csi
