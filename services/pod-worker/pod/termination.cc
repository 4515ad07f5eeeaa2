#include "services/pod-worker/pod/termination.h"

#include <utility>

#include "services/pod-worker/pod/grace.h"
#include "services/pod-worker/pod/observed.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

Termination::Run::Run() = default;

void Termination::BeginRun(StopSteps run, Clock::Time until) {
  CHECK(!run_ && !run.steps.empty());
  run_.emplace();
  run_->steps = std::move(run.steps);
  run_->grace_seconds = run.grace_seconds;
  run_->until = until;
}

Clock::Time Termination::UntilOf(const ContainerStop& container) const {
  if (!run_->grace_seconds || !container.grace_seconds) return run_->until;
  return run_->until + std::chrono::seconds{*container.grace_seconds - *run_->grace_seconds};
}

std::vector<ContainerStop> Termination::ToStop() const {
  std::vector<ContainerStop> all;
  for (const auto& step : run_->steps) all.insert(all.end(), step.begin(), step.end());
  return all;
}

void Termination::OnHookBegun(const std::string& container_id) {
  hooks_.insert(container_id);
  hooked_here_.insert(container_id);
}

Termination::Order Termination::OrderFor(ContainerStop container, Clock::Time now, bool again) {
  (container.aside ? run_->aside : run_->outstanding).insert(container.id);
  again = again || signalled_.contains(container.id);
  if (!run_->grace_seconds && signalled_.insert(container.id).second)
    run_->newly_signalled.insert(container.id);
  const Clock::Time until = UntilOf(container);
  container.announced = hooked_here_.contains(container.id);
  return {std::move(container), StopSeconds(until, now, again)};
}

std::vector<Termination::Order> Termination::BeginStep(Clock::Time now) {
  std::vector<ContainerStop> step = std::move(run_->steps.front());
  run_->steps.erase(run_->steps.begin());
  const bool resumed = resumed_ && std::exchange(run_->first_step, false);
  run_->begun = true;
  std::vector<Order> orders;
  for (auto& container : step) {
    if (hooks_.contains(container.id) && now < UntilOf(container)) {
      run_->waiting[container.id] = std::move(container);
      continue;
    }
    const bool again = resumed && !hooked_here_.contains(container.id);
    orders.push_back(OrderFor(std::move(container), now, again));
  }
  return orders;
}

std::optional<Termination::Order> Termination::OnHookEnded(const std::string& container_id,
                                                           Clock::Time now) {
  hooks_.erase(container_id);
  if (!run_ || run_->cancel->cancelled()) return std::nullopt;
  const auto found = run_->waiting.find(container_id);
  if (found == run_->waiting.end()) return std::nullopt;
  ContainerStop container = std::move(found->second);
  run_->waiting.erase(found);
  return OrderFor(std::move(container), now, false);
}

void Termination::Cancel() {
  if (!run_) return;
  run_->waiting.clear();
  run_->cancel->Cancel();
}

bool Termination::IsOver() const {
  return IsCancelled() && run_->begun && run_->outstanding.empty() && run_->aside.empty();
}

std::optional<Clock::Time> Termination::NextOverdue() const {
  std::optional<Clock::Time> next;
  if (!run_) return next;
  for (const auto& [id, container] : run_->waiting)
    if (!next || UntilOf(container) < *next) next = UntilOf(container);
  return next;
}

std::vector<std::string> Termination::Overdue(Clock::Time now) const {
  std::vector<std::string> ids;
  if (!run_) return ids;
  for (const auto& [id, container] : run_->waiting)
    if (now >= UntilOf(container)) ids.push_back(id);
  return ids;
}

Termination::Progress Termination::OnStopped(const std::string& container_id, const Status& status,
                                             bool has_time) {
  if (status.ok()) hooked_here_.erase(container_id);  // it gets no more signals
  if (!run_) return Progress::kNotAwaited;
  if (status.code() == StatusCode::kAborted && run_->newly_signalled.erase(container_id) > 0)
    signalled_.erase(container_id);
  const bool aside = run_->aside.erase(container_id) > 0;
  if (run_->outstanding.erase(container_id) == 0 && !aside) return Progress::kNotAwaited;
  const bool cancelled = run_->cancel->cancelled();
  if (!status.ok() && !cancelled) run_->errors.push_back(Message(status));
  if (!run_->outstanding.empty() || !run_->waiting.empty()) return Progress::kWaits;
  const bool failed_early = has_time && !run_->errors.empty();
  if (!run_->steps.empty() && !cancelled && !failed_early) return Progress::kNextStep;
  return run_->aside.empty() ? Progress::kDone : Progress::kWaits;
}

Termination::Result Termination::EndRun() {
  Result result{run_->cancel->cancelled(), !run_->grace_seconds, std::move(run_->errors)};
  run_.reset();
  return result;
}

void Termination::Observe(v1::ObservedPod seen) {
  if (last_seen) MergeObservation(*last_seen, seen);
  last_seen = std::make_shared<v1::ObservedPod>(std::move(seen));
}

}  // namespace splitlet::pod_worker
