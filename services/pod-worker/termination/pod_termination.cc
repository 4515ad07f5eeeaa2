#include "services/pod-worker/termination/pod_termination.h"

#include <utility>

#include "services/pod-worker/termination/pod_stop.h"
#include "services/pod-worker/termination/stop_order.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

void PodTermination::BeginRun(StopRun run) {
  CHECK(!run_ && !run.steps.empty());
  run_.emplace();
  run_->steps = std::move(run.steps);
  run_->grace_seconds = run.grace_seconds;
}

std::vector<PodTermination::Order> PodTermination::BeginStep(Clock::Time deadline,
                                                             Clock::Time now) {
  std::vector<ContainerStop> step = std::move(run_->steps.front());
  run_->steps.erase(run_->steps.begin());
  const bool resumed = resumed_ && std::exchange(run_->first_step, false);
  std::vector<Order> orders;
  for (auto& container : step) {
    run_->outstanding.insert(container.id);
    const bool again = resumed || told_to_end_.contains(container.id);
    if (!run_->grace_seconds) told_to_end_.insert(container.id);
    const int64_t grace =
        run_->grace_seconds ? *run_->grace_seconds : StopSeconds(deadline, now, again);
    orders.push_back({std::move(container), grace});
  }
  return orders;
}

void PodTermination::Cancel() {
  if (run_) run_->cancel->Cancel();
}

PodTermination::Progress PodTermination::OnStopped(const std::string& container_id,
                                                   const Status& status, bool has_time) {
  if (!run_ || run_->outstanding.erase(container_id) == 0) return Progress::kNotAwaited;
  const bool cancelled = run_->cancel->cancelled();
  if (!status.ok() && !cancelled) run_->errors.push_back(Message(status));
  if (!run_->outstanding.empty()) return Progress::kWaits;
  const bool failed_early = has_time && !run_->errors.empty();
  return run_->steps.empty() || cancelled || failed_early ? Progress::kDone : Progress::kNextStep;
}

PodTermination::Result PodTermination::EndRun() {
  Result result{run_->cancel->cancelled(), !run_->grace_seconds, std::move(run_->errors)};
  run_.reset();
  return result;
}

void PodTermination::Observe(v1::ObservedPod seen) {
  if (last_seen) MergeObservation(*last_seen, seen);
  last_seen = std::make_shared<v1::ObservedPod>(std::move(seen));
}

}  // namespace splitlet::pod_worker
