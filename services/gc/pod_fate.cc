#include "services/gc/pod_fate.h"

#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

bool Ended(const v1::WorkerRecord& worker) {
  return worker.state() == v1::TERMINATED || worker.state() == v1::FINISHED;
}

Fate FateOfWorker(const v1::WorkerRecord& worker, const FateInput& input) {
  const v1::DesiredRecord* desired = input.desired.record;
  // The next life of this UID is on its way.
  if (desired != nullptr && desired->incarnation() > worker.incarnation())
    return {PodFate::kWanted};
  const bool finished = worker.state() == v1::FINISHED;
  if (finished && desired != nullptr && desired->state() == v1::DesiredRecord::REMOVED)
    return {PodFate::kGone};
  if (finished && desired == nullptr && input.views_complete) return {PodFate::kGone, true};
  if (worker.evicted() && Ended(worker)) return {PodFate::kContent};
  return {PodFate::kWanted};
}

}  // namespace

Fate ComputeFate(const FateInput& input) {
  const bool unreadable = (input.desired.present && input.desired.record == nullptr) ||
                          (input.worker.present && input.worker.record == nullptr);
  if (unreadable) return {PodFate::kUnknown};
  // A pod with a worker is ours, or was adopted.
  if (input.worker.present) return FateOfWorker(*input.worker.record, input);
  if (input.desired.present) return {PodFate::kWanted};
  if (!input.ours && !input.kill_foreign_pods) return {PodFate::kForeign};
  return input.views_complete ? Fate{PodFate::kGone, true} : Fate{PodFate::kWanted};
}

}  // namespace splitlet::gc
