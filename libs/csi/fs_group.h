#pragma once

/// The decision which side gives the files of a volume to the pod's fsGroup.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet csi_mounter supportsFSGroup.

#include <cstdint>
#include <optional>

#include "libs/csi/capabilities.h"
#include "libs/csi/driver_object.h"
#include "libs/csi/volume.h"

namespace splitlet::csi {

enum class GroupOwnership {
  kUnchanged,
  kByDriver,  // the requests to stage and publish name the group
  kByWalk,    // pod-worker changes each file after the publish
};

struct GroupInput {
  const Volume& volume;
  const NodeCapabilities& capabilities;
  FsGroupPolicy policy = FsGroupPolicy::kReadWriteOnceWithFsType;
  std::optional<int64_t> fs_group;  // of the pod
  bool read_only = false;           // as the volume is published
};
GroupOwnership ComputeGroupOwnership(const GroupInput& input);

}  // namespace splitlet::csi
