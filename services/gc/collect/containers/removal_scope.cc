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
  // The next incarnation of this UID is about to start.
  if (desired != nullptr && desired->incarnation() > worker.incarnation())
    return {RemovalScope::kWanted};
  const bool finished = worker.state() == v1::FINISHED;
  if (finished && desired != nullptr && desired->state() == v1::DesiredRecord::REMOVED)
    return {RemovalScope::kEverything};
  // `finished` and `removed` are never taken back, so even an incomplete source cannot desire this
  // incarnation again. A record that such a view still shows is outdated. An API server is the
  // exception: it shows a deleted pod until status has reported its end.
  const bool shown =
      desired != nullptr && (input.views_complete || worker.source() == kube::kApiSource);
  if (finished && worker.removed() && !shown) return {RemovalScope::kEverything};
  if (finished && desired == nullptr && input.views_complete)
    return {RemovalScope::kEverything, true};
  if (worker.evicted() && Ended(worker)) return {RemovalScope::kKeepDirectory};
  // The status of the pod rests on its worker's record. A pod that ended with the node runs again
  // after the boot.
  if (input.short_of_disk && finished && worker.shutdown_boot() == 0)
    return {RemovalScope::kRuntimeOnly};
  return {RemovalScope::kWanted};
}

}  // namespace

Scope ComputeScope(const ScopeInput& input) {
  const bool unreadable = (input.desired.present && input.desired.record == nullptr) ||
                          (input.worker.present && input.worker.record == nullptr);
  if (unreadable) return {RemovalScope::kUnknown};
  // A pod with a worker was created or adopted by splitlet.
  if (input.worker.present) return ScopeOfWorker(*input.worker.record, input);
  if (input.desired.present) return {RemovalScope::kWanted};
  if (!input.ours && !input.kill_unmanaged_pods) return {RemovalScope::kUnmanaged};
  return input.views_complete
             ? Scope{.scope = RemovalScope::kEverything, .by_absence = true, .unrecorded = true}
             : Scope{RemovalScope::kWanted};
}

}  // namespace splitlet::gc
