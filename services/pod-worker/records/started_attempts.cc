#include "services/pod-worker/records/started_attempts.h"

#include <utility>

namespace splitlet::pod_worker {

Status SaveStartedAttempts(const DiskRecords& records, const PodIncarnation& pod,
                           cri::StartedAttempts next, cri::StartedAttempts& begun) {
  if (next == begun) return OkStatus();
  const Status saved = records.SaveStartedAttempts(pod.uid, pod.incarnation, next);
  if (saved.ok()) begun = std::move(next);
  return saved;
}

}  // namespace splitlet::pod_worker
