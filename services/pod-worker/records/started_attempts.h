#pragma once

/// Which attempt of each container has begun, in one incarnation of a pod: on disk before it
/// counts.
/// In:      a sync, before it starts a container, after one that never ran, and for what it finds
///          running that was not remembered.
/// Owns:    nothing; the attempts are in the worker.
/// Killed:  a container that has begun on disk and is gone counts as one that ran and ended unseen.
/// Threads: that of the sync; blocks on the disk.
/// Errors:  those of the disk; then nothing has changed.
/// Source:  docs/safety.md, rule 3.

#include <string>

#include "libs/base/status.h"
#include "libs/cri/incarnation.h"
#include "services/pod-worker/records/disk_records.h"

namespace splitlet::pod_worker {

struct PodIncarnation {
  const std::string& uid;
  int64_t incarnation = 0;
};
/// `begun` becomes `next` once that is on disk.
Status SaveStartedAttempts(const DiskRecords& records, const PodIncarnation& pod,
                           cri::StartedAttempts next, cri::StartedAttempts& begun);

}  // namespace splitlet::pod_worker
