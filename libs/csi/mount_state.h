#pragma once

/// The state of a volume's mount in a pod, and of its staging on the node: one table for both.
/// kUncertain counts as mounted wherever a mount would be harmful: it keeps the pod from finishing
/// and the volume in volumesInUse. No container gets such a mount.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet operation_generator markVolumeErrorState and markDeviceErrorState.

#include "libs/csi/call_errors.h"

namespace splitlet::csi {

enum class MountState { kNotMounted, kUncertain, kMounted };

/// How the agent came to know the volume.
enum class Origin {
  kMountedByUs,
  kReconstructed,  // from a directory, after a restart: an earlier mount may exist
};

/// After a try to mount, also to mount again, which failed with an error of this class.
MountState AfterFailedMount(MountState before, ErrorClass error, Origin origin);
/// After a try to unmount. Success: not mounted.
MountState AfterFailedUnmount(MountState before, ErrorClass error);
/// The failed mount left no mount: its directory and data file go.
bool RemovesLeftovers(MountState before, ErrorClass error, Origin origin);

}  // namespace splitlet::csi
