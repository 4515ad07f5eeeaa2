#include "services/pod-worker/termination/pod_terminator.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/span.h"
#include "libs/cri/trace_scope.h"
#include "services/pod-worker/pod/grace.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/termination/stop_order.h"
#include "services/pod-worker/termination/terminal_status.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kStopRetry = 2s;
constexpr Duration kAfterHook = 2s;
/// A kubelet waits so long for the volumes of a terminated pod, and records no event then.
constexpr Duration kUnmountWait = 2min + 3s;
constexpr const char* kStillMounted =
    "volumes are not unmounted yet: a program that mounts or unmounts one hangs";

std::unique_ptr<kube::Pod> Parse(const std::optional<Grant>& grant) {
  if (!grant || grant->pod.empty()) return nullptr;
  return std::make_unique<kube::Pod>(grant->pod.Parse());
}

/// Only what is in these sandboxes; empty: everything.
v1::ObservedPod Restrict(const v1::ObservedPod& seen, const std::vector<std::string>& sandbox_ids) {
  if (sandbox_ids.empty()) return seen;
  v1::ObservedPod out = seen;
  out.clear_containers();
  for (const auto& record : seen.containers())
    if (std::find(sandbox_ids.begin(), sandbox_ids.end(), record.sandbox_id()) != sandbox_ids.end())
      *out.add_containers() = record;
  return out;
}

/// Ids of the sandboxes that are stopped with the worker's pod, as last seen.
std::vector<std::string> SandboxesOf(const Worker& worker) {
  if (!worker.sandbox_ids.empty()) return worker.sandbox_ids;
  std::vector<std::string> ids;
  for (const auto& sandbox : worker.termination.last_seen->sandboxes()) ids.push_back(sandbox.id());
  return ids;
}

}  // namespace

bool PodTerminator::Kill(Worker& worker, const KillOrder& order) {
  const bool newly_removed = order.removed && worker.removal == Removal::kNone;
  if (newly_removed) worker.removal = Removal::kRemoved;
  if (!order.traceparent.empty()) worker.traceparent = order.traceparent;
  if (worker.state == WorkerState::kTerminated || worker.state == WorkerState::kFinished)
    return newly_removed;
  const Clock::Time now = deps_.env.clock.Now();
  const bool first = worker.state == WorkerState::kSyncing;
  const KillChange change = ApplyKill({order, worker.traits, first, now}, worker.kill);
  worker.state = Next(worker.state, WorkerEvent::kEndRequested);
  worker.waits_for.clear();
  if (first) worker.trouble.Clear();
  if (!worker.times.ending_since) worker.times.ending_since = now;
  worker.ending->Cancel();
  worker.post_start.Cancel();
  if (first || change.shortened) {
    worker.termination.Cancel();
    deps_.env.loop.Post([this, uid = worker.uid] { FinishCancelled(uid); });
  }
  return first || change.shortened || newly_removed || change.evicts;
}

void PodTerminator::BeginStop() {
  stopping_ = true;
  for (const auto& [uid, worker] : deps_.workers) worker->termination.Cancel();
}

Worker& PodTerminator::Busy(const std::string& uid) const {
  Worker* worker = deps_.workers.Find(uid);
  CHECK(worker != nullptr && IsInStep(worker->activity));
  return *worker;
}

void PodTerminator::Inspect(Worker& worker) {
  worker.On(ActivityEvent::kStepBegun);
  deps_.env.strands.Run(worker.uid, [this, uid = worker.uid, traceparent = worker.traceparent,
                                     known = std::exchange(worker.syncs.known_running, nullptr)] {
    const cri::TraceScope trace(traceparent);
    auto seen =
        std::make_shared<StatusOr<v1::ObservedPod>>(deps_.runtime.Inspect(uid, known.get()));
    deps_.env.loop.Post([this, uid, seen] { OnInspected(uid, std::move(*seen)); });
  });
}

void PodTerminator::OnInspected(const std::string& uid, StatusOr<v1::ObservedPod> seen) {
  Worker& worker = Busy(uid);
  if (!seen.ok()) return Fail(worker, Message(seen.status()));
  worker.termination.Observe(std::move(*seen));
  worker.syncs.pod_ip = PodIpOf(*worker.termination.last_seen);
  std::set<std::string> ended;
  for (const auto& record : worker.termination.last_seen->containers())
    if (record.state() != v1::ContainerRecord::RUNNING) ended.insert(record.id());
  deps_.on_ended(uid, ended);
  deps_.store.PutWorkers(worker);
  const auto pod = Parse(worker.grant);
  auto steps = StopOrder(pod.get(), Restrict(*worker.termination.last_seen, worker.sandbox_ids));
  if (steps.empty()) return StopSandboxes(worker, {});
  StopContainers(worker, {.steps = std::move(steps), .grace_seconds = {}});
}

void PodTerminator::StopContainers(Worker& worker, StopSteps run) {
  CHECK(IsInStep(worker.activity));
  const Clock::Time now = deps_.env.clock.Now();
  const bool hooked = run.hooks && run.grace_seconds.value_or(1) > 0;
  worker.termination.BeginRun(std::move(run), run.grace_seconds
                                                  ? now + std::chrono::seconds{*run.grace_seconds}
                                                  : worker.kill.deadline);
  const auto pod = hooked ? Parse(worker.grant) : nullptr;
  const auto stops = worker.termination.ToStop();
  auto hooks =
      PreStopHooks({pod.get(), stops, worker.restarts.pre_stops, worker.syncs.pod_ip, now});
  std::erase_if(hooks, [&worker](const PreStop& hook) {
    return worker.termination.IsHookUnderWay(hook.container.id);
  });
  hooks.empty() ? BeginStep(worker) : BeginHooks(worker, std::move(hooks));
}

/// A hook that is marked and did not begin is lost; a hook that begins twice may do harm.
void PodTerminator::BeginHooks(Worker& worker, std::vector<PreStop> hooks) {
  const Clock::Time now = deps_.env.clock.Now();
  for (const auto& hook : hooks) worker.restarts.pre_stops.emplace(hook.container.id, now);
  deps_.env.strands.Run(worker.uid, [this, uid = worker.uid, incarnation = worker.incarnation,
                                     restarts = worker.restarts, hooks = std::move(hooks)] {
    const Status saved = deps_.records.SaveRestart(uid, incarnation, restarts);
    deps_.env.loop.Post([this, uid, hooks, saved] { OnHooksSaved(uid, hooks, saved); });
  });
}

/// A full disk keeps no pod from being ended: then without its hooks.
void PodTerminator::OnHooksSaved(const std::string& uid, const std::vector<PreStop>& hooks,
                                 const Status& saved) {
  Worker& worker = Busy(uid);
  for (const auto& hook : hooks)
    saved.ok() || hook.begun_before ? BeginHook(worker, hook)
                                    : FailHook(worker, hook.container.name, saved);
  if (worker.termination.IsCancelled()) return OnAllStopped(worker);
  BeginStep(worker);
}

void PodTerminator::BeginHook(Worker& worker, const PreStop& hook) {
  if (stopping_) return;
  const std::string& id = hook.container.id;
  PodEvents(deps_.events, RefOf(worker))
      .Normal("Killing", hook.container.message, hook.container.name);
  worker.termination.OnHookBegun(id);
  // It runs on beside the last seconds that the container gets.
  const Deadline deadline{worker.termination.UntilOf(hook.container) + kAfterHook,
                          std::make_shared<CancelToken>()};
  deps_.hooks.Begin(
      {id, hook.call, deadline, worker.traceparent},
      [this, answer = HookAnswer{worker.uid, worker.incarnation, id, hook.container.name}](
          const Status& status) { OnHookEnded(answer, status); });
}

void PodTerminator::OnHookEnded(const HookAnswer& answer, const Status& status) {
  Worker* worker = deps_.workers.Find(answer.uid);
  if (stopping_ || worker == nullptr || worker->incarnation != answer.incarnation) return;
  if (!worker->termination.IsHookUnderWay(answer.container_id)) return;
  const bool ours =
      status.code() == StatusCode::kCancelled || status.code() == StatusCode::kDeadlineExceeded;
  if (!status.ok() && !ours) FailHook(*worker, answer.name, status);
  if (const auto order =
          worker->termination.OnHookEnded(answer.container_id, deps_.env.clock.Now()))
    StopContainer(*worker, *order);
}

void PodTerminator::FailHook(const Worker& worker, const std::string& container,
                             const Status& why) {
  PodEvents(deps_.events, RefOf(worker))
      .Warning("FailedPreStopHook", "PreStopHook failed", container);
  deps_.env.log.Warn(
      "preStop hook failed",
      {KV("pod", kube::PodKey(worker.name_space, worker.name)), KV("podUID", worker.uid),
       KV("containerName", container), KV("err", why), TraceField(worker)});
}

/// A container whose hook is still under way gets its signal all the same.
void PodTerminator::OnTimeOver(const std::string& uid, int64_t incarnation) {
  Worker* worker = deps_.workers.Find(uid);
  if (stopping_ || worker == nullptr || worker->incarnation != incarnation) return;
  for (const std::string& id : worker->termination.Overdue(deps_.env.clock.Now())) {
    deps_.env.log.Info("preStop hook exceeded its time, stopping the container",
                       {KV("podUID", uid), KV("containerID", id), TraceField(*worker)});
    if (const auto order = worker->termination.OnHookEnded(id, deps_.env.clock.Now()))
      StopContainer(*worker, *order);
  }
  WatchHooks(*worker);
}

void PodTerminator::FinishCancelled(const std::string& uid) {
  Worker* worker = deps_.workers.Find(uid);
  if (worker != nullptr && worker->termination.IsOver()) OnAllStopped(*worker);
}

void PodTerminator::BeginStep(Worker& worker) {
  const Clock::Time now = deps_.env.clock.Now();
  worker.times.last_action = now;
  for (const auto& order : worker.termination.BeginStep(now)) StopContainer(worker, order);
  WatchHooks(worker);
}

void PodTerminator::WatchHooks(const Worker& worker) {
  if (const auto next = worker.termination.NextOverdue())
    deps_.env.loop.RunAfter(*next - deps_.env.clock.Now(),
                            [this, uid = worker.uid, incarnation = worker.incarnation] {
                              OnTimeOver(uid, incarnation);
                            });
}

/// The strand's task only begins the stop: no thread waits for the container.
void PodTerminator::StopContainer(const Worker& worker, const Termination::Order& order) {
  const PodRef pod = RefOf(worker);
  auto span = std::make_shared<Span>("stop container", SpanKind::kInternal, worker.traceparent);
  span->Set("k8s.pod.uid", pod.uid);
  span->Set("k8s.container.name", order.container.name);
  const auto post = [this, &loop = deps_.env.loop, span,
                     answer = StopAnswer{worker.uid, worker.incarnation, order.container.id,
                                         OkStatus()}](const Status& stopped) mutable {
    span->End(stopped);
    answer.status = stopped;
    loop.Post([this, answer] { OnStopped(answer); });
  };
  const PodRuntime::OneStop one{order.container, order.grace_seconds, worker.termination.cancel()};
  deps_.env.strands.Run("stop/" + order.container.id, [this, pod, one, span, post] {
    const cri::TraceScope trace(span->traceparent());
    deps_.runtime.BeginStopContainer(pod, one, post);
  });
}

/// An answer for another incarnation is ignored.
void PodTerminator::OnStopped(const StopAnswer& answer) {
  Worker* worker = deps_.workers.Find(answer.uid);
  if (worker == nullptr || worker->incarnation != answer.incarnation) return;
  if (answer.status.ok()) deps_.on_ended(answer.uid, {answer.container_id});
  const bool has_time = deps_.env.clock.Now() < worker->kill.deadline;
  switch (worker->termination.OnStopped(answer.container_id, answer.status, has_time)) {
    case Termination::Progress::kNotAwaited:
    case Termination::Progress::kWaits: return;
    case Termination::Progress::kNextStep: return BeginStep(*worker);
    case Termination::Progress::kDone: return OnAllStopped(*worker);
  }
}

void PodTerminator::OnAllStopped(Worker& worker) {
  const Termination::Result stopped = worker.termination.EndRun();
  worker.times.last_action = deps_.env.clock.Now();
  if (stopped.cancelled) return deps_.pods.OnStepEnded(worker, true);
  const std::string errors = fmt::format("{}", fmt::join(stopped.errors, ", "));
  if (worker.state == WorkerState::kTerminating && stopped.with_pod) {
    // Stopping the sandbox kills immediately: not while the containers still have time.
    const bool in_time = deps_.env.clock.Now() < worker.kill.deadline;
    if (!stopped.errors.empty() && in_time) return Fail(worker, errors);
    return StopSandboxes(worker, stopped.errors);
  }
  if (stopped.errors.empty()) return deps_.pods.OnStepEnded(worker, true);
  const std::string text = fmt::format("failed to \"KillContainer\": {}", errors);
  worker.trouble.Set(Trouble::kKill, text);
  PodEvents(deps_.events, RefOf(worker)).Warning("FailedKillPod", text);
  deps_.pods.AdvanceAfter(worker.uid, kStopRetry);
  deps_.store.PutWorkers(worker);
  deps_.pods.OnStepEnded(worker, false);
}

/// Also when a container did not stop in its time: the sandbox takes it along.
void PodTerminator::StopSandboxes(const Worker& worker, std::vector<std::string> errors) {
  const std::vector<std::string> ids = SandboxesOf(worker);
  deps_.stopped_sandboxes.OnBegun(ids);
  deps_.env.strands.Run(worker.uid, [this, uid = worker.uid, before = worker.termination.last_seen,
                                     only = worker.sandbox_ids, ids, errors = std::move(errors),
                                     traceparent = worker.traceparent] {
    Span span("stop sandboxes", SpanKind::kInternal, traceparent);
    span.Set("k8s.pod.uid", uid);
    const cri::TraceScope trace(span.traceparent());
    auto left =
        std::make_shared<StatusOr<v1::ObservedPod>>(deps_.runtime.StopSandboxes(*before, only));
    span.End(left->status());
    deps_.env.loop.Post([this, uid, ids, left, errors] {
      if (left->ok()) deps_.stopped_sandboxes.OnStopped(ids);
      OnSandboxesStopped(uid, errors, std::move(*left));
    });
  });
}

void PodTerminator::OnSandboxesStopped(const std::string& uid,
                                       const std::vector<std::string>& errors,
                                       StatusOr<v1::ObservedPod> left) {
  Worker& worker = Busy(uid);
  worker.times.last_action = deps_.env.clock.Now();
  if (!errors.empty()) return Fail(worker, fmt::format("{}", fmt::join(errors, ", ")));
  if (!left.ok()) return Fail(worker, Message(left.status()));
  worker.termination.last_seen = std::make_shared<v1::ObservedPod>(std::move(*left));
  deps_.metrics.ObserveWorker("kill", deps_.env.clock.Now() - worker.times.ending_since);
  worker.trouble.Clear();
  worker.waiting_reasons.clear();
  Settle(worker);
  worker.state = Next(worker.state, WorkerEvent::kAllStopped);
  deps_.env.log.Info("pod stopped", {KV("pod", kube::PodKey(worker.name_space, worker.name)),
                                     KV("podUID", uid), TraceField(worker)});
  // The next step begins when this save is done.
  deps_.store.Save(worker, {.permanent = worker.incarnation != 0 && !worker.orphan, .fsync = true});
  deps_.pods.OnStepEnded(worker, false);
}

void PodTerminator::Settle(Worker& worker) const {
  const auto pod = Parse(worker.grant);
  worker.termination.terminal_status =
      TerminalStatusOf({.before = worker.termination.terminal_status.get(),
                        .pod = pod.get(),
                        .evicted = worker.kill.evicted(),
                        .reason = worker.kill.reason,
                        .message = worker.kill.message,
                        .last_seen = *worker.termination.last_seen,
                        .incarnation = worker.incarnation,
                        .begun = worker.started_attempts});
}

void PodTerminator::TearDown(Worker& worker) {
  worker.On(ActivityEvent::kStepBegun);
  deps_.env.strands.Run(
      worker.uid, [this, uid = worker.uid, source = worker.source, orphan = worker.orphan] {
        const auto cleaned = orphan ? TearDownOrphan(uid, source) : TearDownPod(uid, source);
        deps_.env.loop.Post([this, uid, cleaned] { OnTornDown(uid, cleaned); });
      });
}

/// Pages of volumes in memory are charged to the cgroup: it goes last.
StatusOr<Progress> PodTerminator::TearDownPod(const std::string& uid,
                                              const std::string& source) const {
  const auto cleaned = deps_.volumes.TearDown(uid, source);
  if (cleaned.ok() && *cleaned == Progress::kDone) return Done(deps_.cgroups.Destroy(uid));
  deps_.env.log.LogIfError(deps_.cgroups.LowerShares(uid),
                           "lower the CPU shares of a terminated pod");
  return cleaned;
}

/// Only some sandboxes of the pod were ended, maybe: while any other runs its volumes stay. They go
/// with the last one if that is ended here too; otherwise gc asks for those of a pod that has a
/// mark. The cgroup of a pod without a record may hold what is not to be ended here; CgroupKeeper
/// checks it.
StatusOr<Progress> PodTerminator::TearDownOrphan(const std::string& uid,
                                                 const std::string& source) const {
  const auto left = deps_.runtime.Inspect(uid);
  if (!left.ok()) return left.status();
  if (MayUseVolumes(*left)) return Progress::kDone;
  return deps_.volumes.TearDown(uid, source);
}

void PodTerminator::OnTornDown(const std::string& uid, const StatusOr<Progress>& cleaned) {
  Worker& worker = Busy(uid);
  if (!cleaned.ok()) {
    // The record shows this error instead: nothing hangs.
    worker.times.unmounting_since = {};
    return Fail(worker, Message(cleaned.status()));
  }
  if (*cleaned == Progress::kUnderWay) return OnUnmounting(worker);
  if (worker.trouble.kind() == Trouble::kUnmounting) worker.trouble.Clear();
  worker.state = Next(worker.state, WorkerEvent::kTornDown);
  worker.times.finished_at = deps_.env.clock.Now();
  if (worker.grant) worker.grant->DropPod();
  deps_.metrics.ObserveWorker("terminated", worker.times.finished_at - worker.times.ending_since);
  // The next step begins when this save is done.
  deps_.store.Save(worker, {});
  deps_.pods.OnStepEnded(worker, false);
}

/// A program under way wakes the pod when it has ended. A program that hangs in the kernel may
/// never end.
void PodTerminator::OnUnmounting(Worker& worker) {
  const Clock::Time now = deps_.env.clock.Now();
  if (!worker.times.unmounting_since) worker.times.unmounting_since = now;
  const Duration waited = now - worker.times.unmounting_since;
  if (waited < kUnmountWait) {
    deps_.pods.AdvanceAfter(worker.uid, kUnmountWait - waited);
  } else if (worker.trouble.Set(Trouble::kUnmounting, kStillMounted)) {
    deps_.env.log.Warn("volumes of a terminated pod are still mounted",
                       {KV("pod", kube::PodKey(worker.name_space, worker.name)),
                        KV("podUID", worker.uid), KV("err", kStillMounted), TraceField(worker)});
    deps_.store.PutWorkers(worker);
  }
  deps_.pods.OnStepEnded(worker, false);
}

void PodTerminator::Fail(Worker& worker, const std::string& why) {
  if (stopping_) return deps_.pods.OnStepEnded(worker, false);  // given up here, not refused
  const std::string text = fmt::format("error killing pod: {}", why);
  PodEvents(deps_.events, RefOf(worker)).Warning("FailedKillPod", text);
  if (worker.trouble.Set(Trouble::kKill, text))
    deps_.env.log.Warn("cannot terminate pod, will try again",
                       {KV("podUID", worker.uid), KV("err", why), TraceField(worker)});
  deps_.pods.AdvanceAfter(worker.uid, deps_.random.Jitter(kStopRetry, 0.5));
  deps_.store.PutWorkers(worker);
  deps_.pods.OnStepEnded(worker, false);
}

}  // namespace splitlet::pod_worker
