#include "libs/csi/fs_group.h"

#include <algorithm>

namespace splitlet::csi {
namespace {

bool HasOneWriter(const Volume& volume) {
  return std::any_of(volume.access_modes.begin(), volume.access_modes.end(),
                     [](const std::string& mode) {
                       return mode == "ReadWriteOnce" || mode == "ReadWriteOncePod";
                     });
}

}  // namespace

GroupOwnership ComputeGroupOwnership(const GroupInput& input) {
  const Volume& volume = input.volume;
  if (!input.fs_group || volume.block) return GroupOwnership::kUnchanged;
  if (input.capabilities.Has(NodeCapability::kVolumeMountGroup)) return GroupOwnership::kByDriver;
  if (input.read_only) return GroupOwnership::kUnchanged;
  switch (input.policy) {
    case FsGroupPolicy::kNone: return GroupOwnership::kUnchanged;
    case FsGroupPolicy::kFile: return GroupOwnership::kByWalk;
    case FsGroupPolicy::kReadWriteOnceWithFsType: {
      const bool walks = !volume.fs_type.empty() &&
                         (volume.lifecycle == Lifecycle::kEphemeral || HasOneWriter(volume));
      return walks ? GroupOwnership::kByWalk : GroupOwnership::kUnchanged;
    }
  }
  UNREACHABLE();
}

}  // namespace splitlet::csi
