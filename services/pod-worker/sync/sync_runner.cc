#include "services/pod-worker/sync/sync_runner.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/base/trace.h"
#include "services/pod-worker/images/pulls_text.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/pod/grace.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/sync/sync_pass.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kErrorRetry = 10s;
constexpr Duration kQuickRetry = 1s;
constexpr double kSyncJitter = 0.5;
constexpr Duration kLongestHook = 24h;

std::string NameWithUid(const Worker& worker) {
  return fmt::format("{}_{}({})", worker.name, worker.name_space, worker.uid);
}

kube::ParsedPod TakeParsed(Grant& grant) {
  return {grant.pod, std::exchange(grant.parsed, nullptr)};
}

}  // namespace

void SyncRunner::Begin(Worker& worker, std::shared_ptr<const cri::PodListing> listing) {
  worker.On(ActivityEvent::kStepBegun);
  deps_.resyncs.Forget(worker.uid);
  if (!worker.syncs.synced_once && worker.times.granted_at)
    deps_.metrics.worker_start.Observe(
        Metrics::Seconds(deps_.env.clock.Now() - worker.times.granted_at));
  auto input = std::make_shared<SyncInput>(SyncInput{.pod = TakeParsed(*worker.grant),
                                                     .restarts = worker.restarts,
                                                     .pulls = deps_.puller.MemoryOf(worker.uid),
                                                     .ending = worker.ending,
                                                     .killed = worker.syncs.killed,
                                                     .traceparent = worker.traceparent,
                                                     .known = worker.syncs.known_running,
                                                     .incarnation = worker.incarnation,
                                                     .started_attempts = worker.started_attempts,
                                                     .probes = worker.probes,
                                                     .hooked_id = worker.post_start.waits_for(),
                                                     .failed_hooks = worker.post_start.failed(),
                                                     .objects = deps_.objects(worker),
                                                     .listing = std::move(listing),
                                                     .user_ids = worker.user_ids,
                                                     .host_ips = deps_.node_ips,
                                                     .first = !worker.syncs.synced_once});
  deps_.env.strands.Run(worker.uid, [this, uid = worker.uid, input] {
    const Clock::Time begin = deps_.env.clock.Now();
    auto outcome = std::make_shared<SyncOutcome>(RunSync(deps_.sync, *input));
    const Duration took = deps_.env.clock.Now() - begin;
    deps_.env.loop.Post([this, uid, outcome, took] { OnSynced(uid, std::move(*outcome), took); });
  });
}

void SyncRunner::OnSynced(const std::string& uid, SyncOutcome outcome, Duration took) {
  Worker* worker = deps_.workers.Find(uid);
  CHECK(worker != nullptr && IsInStep(worker->activity));
  ApplyOutcome(*worker, outcome, took);
  if (worker->state != WorkerState::kSyncing) return deps_.pods.OnStepEnded(*worker, true);
  if (!outcome.terminal_phase.empty()) {
    Complete(*worker, outcome);
    return deps_.pods.OnStepEnded(*worker, false);  // what comes next waits for the save
  }
  if (outcome.hook_over) worker->post_start.Cancel();
  if (outcome.post_start) BeginPostStart(*worker, *outcome.post_start);
  if (!outcome.stop.empty()) return StopReplaced(*worker, outcome);
  for (const auto& [image, containers] : outcome.pulls)
    deps_.puller.Pull(*worker, image, containers);
  // A pull that has ended since is not begun again: the next sync finds its answer.
  for (const auto& [image, containers] : outcome.awaited)
    if (!deps_.puller.Join(*worker, image, containers)) outcome.next = NextSync::kImmediately;
  worker->waits_for =
      PullsText(deps_.puller.MemoryOf(uid), worker->waits_for, deps_.env.clock.WallNow());
  Schedule(*worker, outcome);
  deps_.store.PutWorkers(*worker);
  // The change is carried out; what happens to the pod from now on is none of its steps.
  if (outcome.next == NextSync::kNotNeeded) worker->traceparent = Unsampled(worker->traceparent);
  deps_.pods.OnStepEnded(*worker, outcome.next == NextSync::kImmediately);
}

void SyncRunner::ApplyOutcome(Worker& worker, SyncOutcome& outcome, Duration took) {
  deps_.metrics.ObserveWorker(worker.syncs.synced_once ? "sync" : "create", took);
  worker.syncs.synced_once = true;
  worker.restarts = std::move(outcome.restarts);
  worker.syncs.killed = std::move(outcome.killed);
  worker.started_attempts = std::move(outcome.started_attempts);
  const bool lasts = outcome.status.ok() && outcome.seen != nullptr;
  worker.syncs.known_running =
      lasts && worker.state == WorkerState::kSyncing ? KnownRunning(*outcome.seen) : nullptr;
  if (outcome.seen != nullptr && worker.state == WorkerState::kSyncing)
    deps_.pods.OnSeen(worker, *outcome.seen);
  if (outcome.seen != nullptr) {
    worker.syncs.pod_ip = PodIpOf(*outcome.seen);
    std::set<std::string> running;
    for (const auto& record : outcome.seen->containers())
      if (record.state() == v1::ContainerRecord::RUNNING) running.insert(record.id());
    worker.post_start.Forget(running);
  }
  ApplyWaitingReasons(worker, outcome);
  for (const auto& [image, kept_for] : outcome.used_pulls)
    deps_.puller.MarkUsed(worker.uid, image, kept_for);
  for (const auto& [image, containers] : outcome.backed_off)
    deps_.puller.MarkBackedOff(worker.uid, image, containers);
  for (const auto& [image, credential] : outcome.shown) deps_.puller.AddAccess(image, credential);
  if (outcome.acted) worker.times.last_action = deps_.env.clock.Now();
  if (outcome.status.code() == StatusCode::kUnavailable && outcome.seen == nullptr) {
    deps_.pods.OnRuntimeAnswer(Message(outcome.status));
  } else if (outcome.seen != nullptr) {
    deps_.pods.OnRuntimeAnswer("");
  }
  ApplyError(worker, outcome);
}

/// A hook that failed while the sync was under way has set the reason of its container.
void SyncRunner::ApplyWaitingReasons(Worker& worker, SyncOutcome& outcome) {
  std::set<std::string> failed;  // names
  if (outcome.seen != nullptr)
    for (const auto& record : outcome.seen->containers())
      if (worker.post_start.failed().contains(record.id())) failed.insert(record.name());
  for (auto& [name, note] : outcome.waiting_reasons) {
    if (note) {
      worker.waiting_reasons[name] = std::move(*note);
    } else if (!failed.contains(name)) {
      worker.waiting_reasons.erase(name);
    }
  }
}

/// The pod is idle while the hook runs: it may be inspected, and killed. There is no limit of a
/// kubelet's to the hook; a call to the runtime has one of a day.
void SyncRunner::BeginPostStart(Worker& worker, const StartedContainer& started) {
  const kube::Pod pod = worker.grant->pod.Parse();
  const auto& list = started.init ? pod.spec().init_containers() : pod.spec().containers();
  const auto found = std::find_if(list.begin(), list.end(), [&started](const auto& container) {
    return container.name() == started.name;
  });
  if (found == list.end() || !found->lifecycle().has_post_start()) return;
  const Deadline deadline{deps_.env.clock.Now() + kLongestHook,
                          worker.post_start.Begin(started.id)};
  deps_.hooks.Begin(
      {started.id, MakeHookCall({pod, *found, found->lifecycle().post_start(), started.pod_ip}),
       deadline, worker.traceparent},
      [this, hooked = Hooked{worker.uid, worker.incarnation, started}](const Status& status) {
        OnPostStart(hooked, status);
      });
}

/// A container whose hook has failed is stopped by the next sync.
void SyncRunner::OnPostStart(const Hooked& hooked, const Status& status) {
  Worker* worker = deps_.workers.Find(hooked.uid);
  if (worker == nullptr || worker->incarnation != hooked.incarnation) return;
  const StartedContainer& container = hooked.container;
  if (!worker->post_start.OnEnded(container.id, !status.ok())) return;
  if (!status.ok()) {
    PodEvents(deps_.events, RefOf(*worker))
        .Warning("FailedPostStartHook", "PostStartHook failed", container.name);
    deps_.metrics.CountStartError(container.init ? "init_container" : "container",
                                  "PostStartHookError");
    deps_.env.log.Warn(
        "postStart hook failed",
        {KV("pod", NameWithUid(*worker)), KV("podUID", worker->uid),
         KV("containerName", container.name), KV("err", Message(status)), TraceField(*worker)});
    worker->waiting_reasons[container.name] =
        WaitingReason{.reason = "PostStartHookError",
                      .message = std::string(Message(status)),
                      .back_off_until = std::nullopt,
                      .cause = WaitingReason::Cause::kPostStartHook};
    deps_.store.PutWorkers(*worker);
  }
  deps_.pods.AdvanceAfter(worker->uid, Duration{0});
}

void SyncRunner::ApplyError(Worker& worker, const SyncOutcome& outcome) {
  if (outcome.status.ok() || outcome.status.code() == StatusCode::kCancelled)
    return worker.trouble.Clear();
  const std::string error = Message(outcome.status);
  if (worker.trouble.Set(Trouble::kSync, error))
    deps_.env.log.Warn("sync pod failed", {KV("pod", NameWithUid(worker)), KV("podUID", worker.uid),
                                           KV("err", error), TraceField(worker)});
}

void SyncRunner::Schedule(Worker& worker, const SyncOutcome& outcome) {
  std::optional<Duration> wait;
  if (outcome.trouble == SyncTrouble::kSandboxDied) {
    // Immediately at first; a runtime that shows it dead and lists it as ready is not asked in a
    // loop.
    wait = deps_.random.Jitter(kQuickRetry * std::min(worker.syncs.failures++, 10), kSyncJitter);
  } else if (!outcome.status.ok()) {
    ++worker.syncs.failures;
    wait = deps_.random.Jitter(kErrorRetry, kSyncJitter);
    if (outcome.trouble == SyncTrouble::kNetworkNotReady) {
      wait = deps_.random.Jitter(kQuickRetry, kSyncJitter);
    } else if (IsRetryable(outcome.status.code())) {
      wait = deps_.random.Jitter(
          std::min(kQuickRetry * (1 << std::min(worker.syncs.failures - 1, 4)), kErrorRetry),
          kSyncJitter);
    }
  } else {
    worker.syncs.failures = 0;
  }
  if (outcome.retry_at) {
    const Duration left = std::max(*outcome.retry_at - deps_.env.clock.Now(), Duration{0});
    wait = std::min(wait.value_or(left), left);
  }
  if (wait) deps_.pods.AdvanceAfter(worker.uid, *wait);
  deps_.resyncs.Add(worker.uid);
}

/// Nothing of the pod will ever run again by itself: the terminal status goes to the disk, then the
/// pod is ended.
void SyncRunner::Complete(Worker& worker, const SyncOutcome& outcome) {
  auto status = std::make_shared<v1::TerminalStatus>();
  status->set_phase(outcome.terminal_phase);
  *status->mutable_observation() = *outcome.seen;
  worker.termination.terminal_status = std::move(status);
  worker.termination.last_seen = outcome.seen;
  deps_.env.log.Info("pod completed", {KV("pod", NameWithUid(worker)), KV("podUID", worker.uid),
                                       KV("phase", outcome.terminal_phase), TraceField(worker)});
  deps_.end(worker);
  deps_.store.Save(worker, {.permanent = true, .fsync = true});
}

/// Stops containers of another definition, or of a sandbox that has to go. Their ids are on disk
/// before the stop, because a stopped container does not show why it was stopped.
void SyncRunner::StopReplaced(Worker& worker, SyncOutcome& outcome) {
  bool changed = false;
  for (const auto& item : outcome.stop) {
    if (!item.replaced) continue;
    changed = worker.restarts.replacing.insert(item.id).second || changed;
    worker.waiting_reasons.try_emplace(item.name,
                                       WaitingReason{kContainerCreating, "", std::nullopt});
  }
  if (changed) deps_.store.PutWorkers(worker);
  StopSteps run{
      .steps = {std::move(outcome.stop)}, .grace_seconds = kMinGrace, .hooks = outcome.stop_hooks};
  if (run.hooks) run.grace_seconds = RestartGrace(worker.grant->pod.Parse());
  if (!changed) return deps_.stop_containers(worker, std::move(run));
  auto shared = std::make_shared<StopSteps>(std::move(run));
  deps_.env.strands.Run(worker.uid, [this, uid = worker.uid, incarnation = worker.incarnation,
                                     restarts = worker.restarts, shared] {
    const Status saved = deps_.records.SaveRestart(uid, incarnation, restarts);
    deps_.env.loop.Post([this, uid, shared, saved] {
      Worker* same = deps_.workers.Find(uid);
      CHECK(same != nullptr);
      if (saved.ok() && same->state == WorkerState::kSyncing)
        return deps_.stop_containers(*same, std::move(*shared));
      deps_.env.log.LogIfError(saved, "save restarts");
      deps_.pods.AdvanceAfter(uid, kQuickRetry);
      deps_.pods.OnStepEnded(*same, false);
    });
  });
}

}  // namespace splitlet::pod_worker
