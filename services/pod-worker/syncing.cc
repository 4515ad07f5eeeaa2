#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/trace.h"
#include "libs/cri/grpc_runtime.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/pod-worker/termination/stop_order.h"
#include "splitlet/v1/pod_worker_facts.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kErrorRetry = 10s;
constexpr Duration kQuickRetry = 1s;
constexpr Duration kLeftoverRetry = 1s;
constexpr double kJitter = 0.5;
constexpr const char* kPastDeadline =
    "Pod was active on the node longer than the specified deadline";

std::string NameWithUid(const Worker& worker) {
  return fmt::format("{}_{}({})", worker.name, worker.name_space, worker.uid);
}

}  // namespace

/// The one place where it is decided what happens next to a pod; at most one thing happens at a
/// time.
void PodWorkerService::Advance(const std::string& uid) {
  Worker* worker = Find(uid);
  if (worker == nullptr || !runtime_listed_ || stopping_) return;
  worker->On(ActivityEvent::kWoken);
  if (worker->activity != Activity::kIdle) return;
  switch (worker->state) {
    case WorkerState::kSyncing: break;
    case WorkerState::kTerminating: return termination_.Inspect(*worker);
    case WorkerState::kTerminated: return termination_.CleanUp(*worker);
    case WorkerState::kFinished: return AfterFinish(*worker);
  }
  if (!worker->grant || !desired_ready_ || PastDeadline(*worker)) return;
  if (const Clock::Time until = holds_.HeldUntil(uid))
    return due_.Add(uid, until - deps_.clock.Now());
  if (MayStart(*worker)) StartSync(*worker);
}

void PodWorkerService::StartSync(Worker& worker) {
  worker.On(ActivityEvent::kStepBegun);
  if (!worker.synced_once && worker.granted_at)
    metrics_.worker_start.Observe(Metrics::Seconds(deps_.clock.Now() - worker.granted_at));
  auto input = std::make_shared<SyncInput>(SyncInput{
      worker.grant->pod, worker.restarts, puller_.MemoryOf(worker.uid), worker.ending,
      worker.killed, worker.traceparent, worker.lasting, worker.incarnation, worker.begun});
  deps_.runtime_strands.Run(worker.uid, [this, uid = worker.uid, input] {
    const Clock::Time begin = deps_.clock.Now();
    auto outcome = std::make_shared<SyncOutcome>(sync_.Run(*input));
    const Duration took = deps_.clock.Now() - begin;
    deps_.loop.Post([this, uid, outcome, took] { OnSynced(uid, std::move(*outcome), took); });
  });
}

void PodWorkerService::OnSynced(const std::string& uid, SyncOutcome outcome, Duration took) {
  Worker* worker = Find(uid);
  CHECK(worker != nullptr && IsInStep(worker->activity));
  Digest(*worker, outcome, took);
  if (worker->state != WorkerState::kSyncing) {
    return OnStepEnded(*worker, true);
  }
  if (!outcome.terminal_phase.empty()) {
    Complete(*worker, outcome);
    return OnStepEnded(*worker, false);  // what comes next waits for the save
  }
  if (!outcome.stop.empty()) return StopReplaced(*worker, std::move(outcome.stop));
  for (const auto& [image, containers] : outcome.pulls) puller_.Pull(*worker, image, containers);
  Schedule(*worker, outcome);
  store_.PutWorkers(*worker);
  // The change is carried out; what happens to the pod from now on is none of its steps.
  if (outcome.settled) worker->traceparent = Unsampled(worker->traceparent);
  OnStepEnded(*worker, outcome.again);
}

void PodWorkerService::Digest(Worker& worker, SyncOutcome& outcome, Duration took) {
  metrics_.ObserveWorker(worker.synced_once ? "sync" : "create", took);
  worker.synced_once = true;
  worker.restarts = std::move(outcome.restarts);
  worker.killed = std::move(outcome.killed);
  worker.begun = std::move(outcome.begun);
  const bool lasts = outcome.status.ok() && outcome.seen != nullptr;
  worker.lasting =
      lasts && worker.state == WorkerState::kSyncing ? WhatLasts(*outcome.seen) : nullptr;
  for (auto& [name, note] : outcome.notes) {
    if (note) {
      worker.notes[name] = std::move(*note);
    } else {
      worker.notes.erase(name);
    }
  }
  for (const auto& image : outcome.used_pulls) puller_.MarkUsed(worker.uid, image);
  if (outcome.acted) Act(worker);
  if (outcome.status.code() == StatusCode::kUnavailable && outcome.seen == nullptr) {
    runtime_trouble_ = Message(outcome.status);
  } else if (outcome.seen != nullptr) {
    runtime_trouble_.clear();
  }
  const std::string error = outcome.status.ok() || outcome.status.code() == StatusCode::kCancelled
                                ? ""
                                : Message(outcome.status);
  if (!error.empty() && error != worker.sync_error)
    deps_.log.Warn("sync pod failed", {KV("pod", NameWithUid(worker)), KV("podUID", worker.uid),
                                       KV("err", outcome.status), TraceField(worker)});
  worker.sync_error = error;
}

void PodWorkerService::Schedule(Worker& worker, const SyncOutcome& outcome) {
  const Clock::Time now = deps_.clock.Now();
  Duration wait = random_.Jitter(config_.sync_frequency, kJitter);
  if (outcome.sandbox_died) {
    // At once; a runtime that shows it dead and lists it as ready is not asked in a loop.
    wait = random_.Jitter(kQuickRetry * std::min(worker.failures++, 10), kJitter);
  } else if (!outcome.status.ok()) {
    ++worker.failures;
    wait = random_.Jitter(kErrorRetry, kJitter);
    if (outcome.network_not_ready) {
      wait = random_.Jitter(kQuickRetry, kJitter);
    } else if (IsRetryable(outcome.status.code())) {
      wait = random_.Jitter(
          std::min(kQuickRetry * (1 << std::min(worker.failures - 1, 4)), kErrorRetry), kJitter);
    }
  } else {
    worker.failures = 0;
  }
  if (outcome.retry_at) wait = std::min(wait, std::max(*outcome.retry_at - now, Duration{0}));
  due_.Add(worker.uid, wait);
}

/// nullptr when the incarnation ends or is another one.
Worker* PodWorkerService::WaitingFor(const PullRequest& pull) const {
  Worker* worker = Find(pull.uid);
  const bool same = worker != nullptr && worker->incarnation == pull.incarnation;
  return same && worker->state == WorkerState::kSyncing ? worker : nullptr;
}

void PodWorkerService::OnPulled(Worker& worker, const PullResult& result) {
  if (result.pulled) return Advance(worker.uid);
  for (const auto& container : result.containers)
    worker.notes[container] = Note{result.reason, result.message, result.retry_at};
  if (result.retry_at) due_.Add(worker.uid, *result.retry_at - deps_.clock.Now());
  store_.PutWorkers(worker);
}

/// Nothing of the pod will ever run again by itself: the verdict goes to the disk, then the pod is
/// ended.
void PodWorkerService::Complete(Worker& worker, const SyncOutcome& outcome) {
  auto verdict = std::make_shared<v1::TerminalVerdict>();
  verdict->set_phase(outcome.terminal_phase);
  *verdict->mutable_observation() = *outcome.seen;
  worker.end.terminal_status = std::move(verdict);
  worker.end.last_seen = outcome.seen;
  deps_.log.Info("pod completed", {KV("pod", NameWithUid(worker)), KV("podUID", worker.uid),
                                   KV("phase", outcome.terminal_phase), TraceField(worker)});
  termination_.Begin(worker, {});
  store_.Save(worker, {.permanent = true, .fsync = true});
}

/// Containers of another definition, or of a sandbox that has to go. What is to come back is on
/// disk before the stop, because a stopped container does not tell why it was stopped.
void PodWorkerService::StopReplaced(Worker& worker, std::vector<ContainerStop> stop) {
  bool changed = false;
  for (const auto& item : stop)
    if (item.replaced) changed = worker.restarts.replacing.insert(item.id).second || changed;
  kube::Pod pod;
  StopRun run{.steps = {std::move(stop)}, .grace_seconds = 2};
  if (pod.ParseFromString(worker.grant->pod)) run.grace_seconds = RestartGrace(pod);
  if (!changed) return termination_.StopContainers(worker, std::move(run));
  auto shared = std::make_shared<StopRun>(std::move(run));
  deps_.runtime_strands.Run(worker.uid, [this, uid = worker.uid, incarnation = worker.incarnation,
                                         restarts = worker.restarts, shared] {
    const Status saved = facts_.SaveRestart(uid, incarnation, restarts);
    deps_.loop.Post([this, uid, shared, saved] {
      Worker* same = Find(uid);
      CHECK(same != nullptr);
      if (saved.ok() && same->state == WorkerState::kSyncing)
        return termination_.StopContainers(*same, std::move(*shared));
      deps_.log.LogIfError(saved, "save restarts");
      due_.Add(uid, kQuickRetry);
      OnStepEnded(*same, false);
    });
  });
}

/// A static pod waits until every other one of its full name is gone.
bool PodWorkerService::MayStart(Worker& worker) {
  if (worker.started || !worker.traits.is_static) return worker.started = true;
  const std::string waits = gate_.WaitsFor(worker);
  if (waits != worker.waits_for) {
    worker.waits_for = waits;
    store_.PutWorkers(worker);
  }
  return worker.started = waits.empty();
}

void PodWorkerService::OnNameInspected(const std::string& uid, bool gone) {
  gone ? Advance(uid) : due_.Add(uid, kLeftoverRetry);
}

bool PodWorkerService::PastDeadline(Worker& worker) {
  if (!worker.traits.active_deadline) return false;
  const Duration left =
      worker.started_at + std::chrono::seconds{*worker.traits.active_deadline} - deps_.clock.Now();
  if (left > Duration{0}) {
    due_.Add(worker.uid, left);
    return false;
  }
  PodEvents(deps_.events, RefOf(worker)).Normal("DeadlineExceeded", kPastDeadline);
  termination_.Begin(worker, {.reason = "DeadlineExceeded", .message = kPastDeadline});
  store_.Save(worker, {.permanent = true, .fsync = true});
  return true;
}

/// The next life, or whoever waited for this name; a pod that nobody recorded leaves no memory.
void PodWorkerService::AfterFinish(Worker& worker) {
  const std::string uid = worker.uid;
  puller_.Forget(uid);
  worker.restarts = {CrashBackoff(config_.crash_loop_max), {}};
  gate_.OnFinished(worker);
  const std::vector<std::string> waiting = gate_.WaitingFor(worker);
  if (worker.next) {
    Grant next = std::move(*worker.next);
    auto traits = TraitsOf(next.pod);
    CHECK(traits.ok());
    Worker& fresh = Add(NewLife(std::move(next), std::move(traits).value()));
    store_.Save(fresh, {.permanent = true});
    if (const auto record = deps_.desired.Find(bus::KeyOf(uid))) ApplyDesired(*record);
  } else if (worker.orphan && worker.incarnation != 0) {
    worker.orphan = false;  // a life before these containers is remembered still
    store_.Save(worker, {});
  } else if (worker.orphan) {
    workers_.Erase(uid);
    store_.Forget(uid);
    // A source that came to know of the pod meanwhile, and wants it no more, waits for an answer.
    if (const auto record = deps_.desired.Find(bus::KeyOf(uid))) ApplyDesired(*record);
  } else {
    ForgetIfGone(worker);
    if (const auto record = deps_.desired.Find(bus::KeyOf(uid));
        record && record->incarnation() > worker.incarnation)
      ApplyDesired(*record);
  }
  for (const auto& other : waiting) Advance(other);
}

void PodWorkerService::OnStepEnded(Worker& worker, bool again) {
  if (again) worker.On(ActivityEvent::kWoken);
  const bool woken = worker.activity == Activity::kStepThenAgain;
  worker.On(ActivityEvent::kStepEnded);
  if (woken) Advance(worker.uid);
}

}  // namespace splitlet::pod_worker
