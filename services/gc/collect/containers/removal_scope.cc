#include "services/gc/collect/containers/removal_scope.h"

#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

bool Ended(const v1::WorkerRecord& worker) {
  return worker.state() == v1::TERMINATED || worker.state() == v1::FINISHED;
}

Scope ScopeOfWorker(const v1::WorkerRecord& worker, const ScopeInput& input) {
  const v1::DesiredRecord* desired = input.desired.record;
  // The next life of this UID is on its way.
  if (desired != nullptr && desired->incarnation() > worker.incarnation())
    return {RemovalScope::kWanted};
  const bool finished = worker.state() == v1::FINISHED;
  if (finished && desired != nullptr && desired->state() == v1::DesiredRecord::REMOVED)
    return {RemovalScope::kEverything};
  // Both are never taken back: an incomplete source cannot want this incarnation again. What its
  // view still shows of it is old, since nothing goes from a view of what is incomplete; but an API
  // server shows a pod that it has deleted until its end was told.
  const bool shown =
      desired != nullptr && (input.views_complete || worker.source() == kube::kApiSource);
  if (finished && worker.removed() && !shown) return {RemovalScope::kEverything};
  if (finished && desired == nullptr && input.views_complete)
    return {RemovalScope::kEverything, true};
  if (worker.evicted() && Ended(worker)) return {RemovalScope::kKeepDirectory};
  // Its status rests on its worker's record. One that ended with the node lives again after it.
  if (input.short_of_disk && finished && worker.shutdown_boot() == 0)
    return {RemovalScope::kRuntimeOnly};
  return {RemovalScope::kWanted};
}

}  // namespace

Scope ComputeScope(const ScopeInput& input) {
  const bool unreadable = (input.desired.present && input.desired.record == nullptr) ||
                          (input.worker.present && input.worker.record == nullptr);
  if (unreadable) return {RemovalScope::kUnknown};
  // A pod with a worker is ours, or was adopted.
  if (input.worker.present) return ScopeOfWorker(*input.worker.record, input);
  if (input.desired.present) return {RemovalScope::kWanted};
  if (!input.ours && !input.kill_unmanaged_pods) return {RemovalScope::kUnmanaged};
  return input.views_complete
             ? Scope{.scope = RemovalScope::kEverything, .by_absence = true, .unrecorded = true}
             : Scope{RemovalScope::kWanted};
}

}  // namespace splitlet::gc
