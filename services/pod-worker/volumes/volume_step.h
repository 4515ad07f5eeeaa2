#pragma once

/// The steps that make a volume ready for a pod, and how the failure of each reads in an event.
/// Threads: pure, any.
/// Errors:  none.
/// Source:  docs/behaviour/volumes.md; kubelet operation generator.

#include <string>

#include "libs/base/status.h"

namespace splitlet::pod_worker {

enum class VolumeStep {
  kProcessClaim,
  kCheckNodeAffinity,
  kFindPlugin,
  kCheckMountOptions,
  kMakeMounter,
  kWaitForAttach,
  kMountDevice,
  kSetUp,
  kFindMapper,  // from here on: of a block device
  kSetUpDevice,
  kMapDevice,
};

struct VolumeFailure {
  VolumeStep step = VolumeStep::kSetUp;
  std::string volume;  // its name in the event: of the persistent volume, or the pod's own
  Status why;
};

/// "FailedMount" or "FailedMapVolume".
const char* EventReasonOf(VolumeStep step);
/// The code of `why`, with the message of the event.
Status EventErrorOf(const VolumeFailure& failure);

}  // namespace splitlet::pod_worker
