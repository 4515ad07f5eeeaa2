#pragma once

/// Tells of a volume that is given to the group of its pod for long, so that nobody wonders why the
/// pod does not start.
/// Out:     the event VolumePermissionChangeInProgress: after kFirst, then at most every kAgain.
/// Killed:  the walk begins anew, and so does its time.
/// Threads: that of the walk. One entry that hangs is not told of before it is done.
/// Errors:  none.
/// Source:  docs/behaviour/volumes.md, "fsGroup"; kubelet VolumeOwnership.

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/clock.h"

namespace splitlet::pod_worker {

/// A Warning event of the pod.
using WarnPod = std::function<void(const char* reason, const std::string& message)>;

class SlowWalk {
 public:
  static constexpr Duration kFirst = std::chrono::seconds{30}, kAgain = std::chrono::seconds{60};

  /// `path`: of the volume, from the pod's UID on. `warn`: empty: nobody is told.
  SlowWalk(const Clock& clock, std::string path, WarnPod warn);
  /// So many are done.
  void OnEntry(uint64_t entries);

 private:
  const Clock& clock_;
  const std::string path_;
  const WarnPod warn_;
  Clock::Time next_;
  bool told_ = false;
};

}  // namespace splitlet::pod_worker
