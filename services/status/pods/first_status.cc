#include "services/status/pods/first_status.h"

#include "services/status/pods/phase.h"
#include "services/status/pods/pod_status.h"

namespace splitlet::status {
namespace {

bool IsRefused(const v1::AdmissionRecord* admission) {
  return admission != nullptr && admission->decision() == v1::AdmissionRecord::REJECTED;
}

/// pod-worker has decided how the pod ends, and its containers may still run.
bool IsTerminating(const v1::WorkerRecord* worker) {
  return worker != nullptr && !worker->terminal_status().phase().empty() && !IsWorkerDone(worker);
}

bool HasAny(const v1::RuntimeRecord* runtime) {
  return runtime != nullptr &&
         runtime->pod().sandboxes_size() + runtime->pod().containers_size() > 0;
}

}  // namespace

FirstStatusWait FindFirstStatusWait(const FirstStatusInputs& in) {
  using enum FirstStatusWait;
  if (in.removed && in.worker == nullptr) return kWorker;
  if (in.waited_long) return kNothing;
  if (in.worker == nullptr && !in.workers_table.was_complete) return kWorkers;
  if (IsTerminating(in.worker)) return kTermination;
  if (IsRefused(in.admission) && in.workers_table.state != TableState::kComplete)
    return kRefusalConfirmed;
  if (in.admission == nullptr && !IsGranted(in.worker) &&
      in.admission_table.state != TableState::kComplete)
    return kAdmission;
  if (HasAny(in.runtime)) return in.workers_table.state == TableState::kStale ? kFlags : kNothing;
  const bool inspected = in.runtime == nullptr || in.runtime->inspect_error().empty();
  const bool listed = inspected && in.runtime_table.was_complete && in.vouched;
  const bool acted =
      IsGranted(in.worker) && in.worker->state() == v1::SYNCING && in.worker->has_last_action_at();
  return acted && !listed ? kListing : kNothing;
}

bool IsRejected(const RejectionInputs& in) {
  if (!IsRefused(in.admission) || IsGranted(in.worker)) return false;
  const bool shown = in.previous != nullptr && in.previous->phase() == kFailed &&
                     in.previous->container_statuses_size() == 0;
  return shown || (in.workers_complete && !in.worker_unreadable);
}

}  // namespace splitlet::status
