#include "services/sync-loop/admission/old_admissions.h"

namespace splitlet::sync_loop {

Retention ComputeRetention(const PastAdmission& admission) {
  if (admission.desired) return Retention::kKeep;
  const WorkerDigest* worker = admission.worker;
  if (worker != nullptr && worker->state != WorkerDigest::State::kFinished) return Retention::kKeep;
  // pod-worker keeps a removal that sync-loop did not see.
  const bool worker_removed =
      worker != nullptr && worker->removed && admission.incarnation <= worker->incarnation;
  return admission.seen_removed || worker_removed ? Retention::kForget
                                                  : Retention::kForgetOnceSourceIsComplete;
}

}  // namespace splitlet::sync_loop
