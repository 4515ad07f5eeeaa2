#pragma once

/// Reports that giving a volume to the group of its pod takes long, which delays the pod's start.
/// Out:     the event VolumePermissionChangeInProgress: after kFirst, then at most every kAgain.
/// Killed:  the walk and its time start again.
/// Threads: the walk's. While one entry hangs, nothing is reported.
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

  /// `path`: of the volume, from the pod's UID on. `warn`: empty: nothing is reported.
  SlowWalk(const Clock& clock, std::string path, WarnPod warn);
  /// `entries`: done so far.
  void OnEntry(uint64_t entries);

 private:
  const Clock& clock_;
  const std::string path_;
  const WarnPod warn_;
  Clock::Time next_;
  bool reported_ = false;
};

}  // namespace splitlet::pod_worker
