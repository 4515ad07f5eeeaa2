#pragma once

/// The access mode that a driver is given for the access modes of a persistent volume.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet csi_client asCSIAccessModeV1 and asSingleNodeMultiWriterCapableCSIAccessModeV1.

#include <string>
#include <vector>

#include "libs/csi/capabilities.h"

namespace splitlet::csi {

/// CSI's names and numbers, without those that no access mode of Kubernetes becomes.
enum class AccessMode {
  kUnknown = 0,
  kSingleNodeWriter = 1,
  kMultiNodeReaderOnly = 3,
  kMultiNodeMultiWriter = 5,
  kSingleNodeSingleWriter = 6,
  kSingleNodeMultiWriter = 7,
};

/// The first of the modes counts; without one it is ReadWriteOnce. kUnknown: not a mode of 1.36.
AccessMode AccessModeOf(const std::vector<std::string>& modes,
                        const NodeCapabilities& capabilities);

/// ReadWriteOncePod is the only mode: one pod may use the volume.
bool IsForOnePod(const std::vector<std::string>& modes);

}  // namespace splitlet::csi
