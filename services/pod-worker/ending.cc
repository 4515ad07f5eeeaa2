#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/span.h"
#include "libs/cri/grpc_runtime.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/volumes/pod_volumes.h"
#include "splitlet/v1/pod_worker_facts.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kRetry = 2s;

int64_t SecondsLeft(Clock::Time deadline, Clock::Time now) {
  return std::max<int64_t>(std::chrono::ceil<std::chrono::seconds>(deadline - now).count(), 0);
}

std::unique_ptr<kube::Pod> Parse(const std::optional<Grant>& grant) {
  auto pod = std::make_unique<kube::Pod>();
  if (!grant || grant->pod.empty() || !pod->ParseFromString(grant->pod)) return nullptr;
  return pod;
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

}  // namespace

bool PodWorkerService::BeginEnd(Worker& worker, const EndCause& cause) {
  const bool newly_removed = cause.removed && !worker.removed;
  worker.removed = worker.removed || cause.removed;
  if (!cause.traceparent.empty()) worker.traceparent = cause.traceparent;
  if (worker.state == WorkerState::kTerminated || worker.state == WorkerState::kFinished)
    return newly_removed;
  const Clock::Time now = deps_.clock.Now();
  GraceQuestion question{.deletion_seconds = cause.deletion_grace ? cause.deletion_grace
                                                                  : worker.traits.deletion_grace,
                         .asked_seconds = cause.asked_grace,
                         .spec_seconds = worker.traits.spec_grace};
  if (worker.deadline) question.left_seconds = SecondsLeft(worker.deadline, now);
  const int64_t grace = EffectiveGrace(question);
  const Clock::Time deadline = now + std::chrono::seconds{grace};
  const bool first = worker.state == WorkerState::kSyncing;
  const bool shortened = worker.deadline && deadline < worker.deadline;
  if (!worker.deadline || shortened) {
    worker.deadline = deadline;
    worker.grace_seconds = grace;
  }
  const bool evicts = cause.evict && !worker.evicted;
  worker.evicted = worker.evicted || cause.evict;
  if (worker.reason.empty()) {
    worker.reason = cause.reason;
    worker.message = cause.message;
  }
  worker.state = Next(worker.state, WorkerEvent::kEndRequested);
  worker.waits_for.clear();
  if (first) worker.sync_error.clear();
  worker.lasting.reset();
  if (!worker.ending_since) worker.ending_since = now;
  worker.ending->Cancel();
  if ((first || shortened) && worker.stopping) worker.stopping->cancel->Cancel();
  return first || shortened || newly_removed || evicts;
}

void PodWorkerService::StartEnd(Worker& worker) {
  worker.busy = true;
  deps_.runtime_strands.Run(worker.uid, [this, uid = worker.uid, traceparent = worker.traceparent] {
    const cri::TraceScope trace(traceparent);
    auto seen = std::make_shared<StatusOr<v1::ObservedPod>>(stop_.Look(uid));
    deps_.loop.Post([this, uid, seen] { OnLooked(uid, std::move(*seen)); });
  });
}

void PodWorkerService::OnLooked(const std::string& uid, StatusOr<v1::ObservedPod> seen) {
  Worker* worker = Find(uid);
  CHECK(worker != nullptr && worker->busy);
  if (!seen.ok()) return EndFailed(*worker, Message(seen.status()));
  if (worker->last_seen) MergeObservation(*worker->last_seen, *seen);
  worker->last_seen = std::make_shared<v1::ObservedPod>(std::move(*seen));
  store_.PutWorkers(*worker);
  const auto pod = Parse(worker->grant);
  StopRun run{.steps = StopOrder(pod.get(), Restrict(*worker->last_seen, worker->sandbox_ids)),
              .cancel = std::make_shared<CancelToken>()};
  if (run.steps.empty()) return StopSandboxes(*worker, {});
  StartStopping(*worker, std::move(run));
}

void PodWorkerService::StartStopping(Worker& worker, StopRun run) {
  CHECK(worker.busy && !worker.stopping);
  worker.stopping = std::move(run);
  StopStep(worker);
}

/// All containers of a step at once, so that each gets the whole grace; the next step gets what is
/// left.
void PodWorkerService::StopStep(Worker& worker) {
  StopRun& run = *worker.stopping;
  const std::vector<ContainerStop> step = std::move(run.steps.front());
  run.steps.erase(run.steps.begin());
  for (const auto& stop : step) run.outstanding.insert(stop.id);
  const bool resumed = worker.resumed && std::exchange(run.first_step, false);
  Act(worker);
  for (const auto& stop : step) {
    const bool again = resumed || worker.told_end.contains(stop.id);
    const int64_t grace = run.grace_seconds
                              ? *run.grace_seconds
                              : StopSeconds(worker.deadline, deps_.clock.Now(), again);
    if (!run.grace_seconds) worker.told_end.insert(stop.id);
    TellToStop(worker, stop, grace);
  }
}

/// The strand's task only begins the stop: no thread waits for the container.
void PodWorkerService::TellToStop(const Worker& worker, const ContainerStop& stop, int64_t grace) {
  const PodRef pod = RefOf(worker);
  auto span = std::make_shared<Span>("stop container", SpanKind::kInternal, worker.traceparent);
  span->Set("k8s.pod.uid", pod.uid);
  span->Set("k8s.container.name", stop.name);
  const auto tell = [this, &loop = deps_.loop, span,
                     answer = StopAnswer{worker.uid, worker.incarnation, stop.id, OkStatus()}](
                        const Status& stopped) mutable {
    span->End(stopped);
    answer.status = stopped;
    loop.Post([this, answer] { OnStopped(answer); });
  };
  const PodStop::OneStop one{stop, grace, worker.stopping->cancel};
  deps_.runtime_strands.Run("stop/" + stop.id, [this, pod, one, span, tell] {
    const cri::TraceScope trace(span->traceparent());
    stop_.BeginStopContainer(pod, one, tell);
  });
}

/// An answer that nobody waits for any more is of a life that is over.
void PodWorkerService::OnStopped(const StopAnswer& answer) {
  Worker* worker = Find(answer.uid);
  const bool awaited = worker != nullptr && worker->incarnation == answer.incarnation &&
                       worker->stopping && worker->stopping->outstanding.erase(answer.container_id);
  if (!awaited) return;
  StopRun& run = *worker->stopping;
  if (!answer.status.ok() && !run.cancel->cancelled()) run.errors.push_back(Message(answer.status));
  if (!run.outstanding.empty()) return;
  if (!run.steps.empty() && !run.cancel->cancelled()) return StopStep(*worker);
  OnAllStopped(*worker);
}

void PodWorkerService::OnAllStopped(Worker& worker) {
  const StopRun run = std::move(*worker.stopping);
  worker.stopping.reset();
  Act(worker);
  if (run.cancel->cancelled()) {
    worker.again = true;
    return StepDone(worker);
  }
  if (worker.state == WorkerState::kTerminating && !run.grace_seconds) {
    // Stopping the sandbox kills at once: not while the containers still have time.
    const bool in_time = deps_.clock.Now() < worker.deadline;
    if (!run.errors.empty() && in_time)
      return EndFailed(worker, fmt::format("{}", fmt::join(run.errors, ", ")));
    return StopSandboxes(worker, run.errors);
  }
  if (run.errors.empty()) {
    worker.again = true;
  } else {
    worker.sync_error = fmt::format("failed to \"KillContainer\": {}", fmt::join(run.errors, ", "));
    PodEvents(deps_.events, RefOf(worker)).Warning("FailedKillPod", worker.sync_error);
    due_.Add(worker.uid, kRetry);
    store_.PutWorkers(worker);
  }
  StepDone(worker);
}

/// Also when a container did not stop in its time: the sandbox takes it along.
void PodWorkerService::StopSandboxes(Worker& worker, std::vector<std::string> errors) {
  deps_.runtime_strands.Run(
      worker.uid, [this, uid = worker.uid, before = worker.last_seen, only = worker.sandbox_ids,
                   errors = std::move(errors), traceparent = worker.traceparent] {
        Span span("stop sandboxes", SpanKind::kInternal, traceparent);
        span.Set("k8s.pod.uid", uid);
        const cri::TraceScope trace(span.traceparent());
        auto left = std::make_shared<StatusOr<v1::ObservedPod>>(stop_.StopSandboxes(*before, only));
        span.End(left->status());
        deps_.loop.Post(
            [this, uid, left, errors] { OnSandboxesStopped(uid, errors, std::move(*left)); });
      });
}

void PodWorkerService::OnSandboxesStopped(const std::string& uid,
                                          const std::vector<std::string>& errors,
                                          StatusOr<v1::ObservedPod> left) {
  Worker* worker = Find(uid);
  CHECK(worker != nullptr && worker->busy);
  Act(*worker);
  if (!errors.empty()) return EndFailed(*worker, fmt::format("{}", fmt::join(errors, ", ")));
  if (!left.ok()) return EndFailed(*worker, Message(left.status()));
  worker->last_seen = std::make_shared<v1::ObservedPod>(std::move(*left));
  metrics_.ObserveWorker("kill", deps_.clock.Now() - worker->ending_since);
  worker->sync_error.clear();
  worker->notes.clear();
  SettleVerdict(*worker);
  worker->state = Next(worker->state, WorkerEvent::kAllStopped);
  worker->busy = false;
  deps_.log.Info("pod stopped", {KV("pod", kube::PodKey(worker->name_space, worker->name)),
                                 KV("podUID", uid), TraceField(*worker)});
  store_.Save(*worker, {.permanent = worker->incarnation != 0 && !worker->orphan, .fsync = true});
}

void PodWorkerService::EndFailed(Worker& worker, const std::string& why) {
  if (stopping_) return StepDone(worker);  // given up here, not refused by the runtime
  const std::string text = fmt::format("error killing pod: {}", why);
  PodEvents(deps_.events, RefOf(worker)).Warning("FailedKillPod", text);
  if (worker.sync_error != text)
    deps_.log.Warn("cannot stop pod",
                   {KV("podUID", worker.uid), KV("err", why), TraceField(worker)});
  worker.sync_error = text;
  due_.Add(worker.uid, random_.Jitter(kRetry, 0.5));
  store_.PutWorkers(worker);
  StepDone(worker);
}

/// What stood before the stop stays; the last look is what it rests on.
void PodWorkerService::SettleVerdict(Worker& worker) {
  auto verdict = worker.verdict ? std::make_shared<v1::TerminalVerdict>(*worker.verdict)
                                : std::make_shared<v1::TerminalVerdict>();
  if (verdict->phase().empty()) {
    const auto pod = Parse(worker.grant);
    const bool failed = worker.evicted || !worker.reason.empty();
    if (failed) {
      verdict->set_phase("Failed");
      verdict->set_reason(worker.reason);
      verdict->set_message(worker.message);
    } else if (pod != nullptr) {
      verdict->set_phase(
          PhaseAfterKill(*pod, cri::PresentLife(*worker.last_seen, worker.incarnation)));
    }
  }
  *verdict->mutable_observation() = *worker.last_seen;
  worker.verdict = std::move(verdict);
}

void PodWorkerService::StartCleanup(Worker& worker) {
  worker.busy = true;
  deps_.runtime_strands.Run(worker.uid, [this, uid = worker.uid, orphan = worker.orphan] {
    const Status cleaned =
        orphan ? OkStatus() : RemoveVolumesOf(uid, config_.node.pod_roots, deps_.files);
    deps_.loop.Post([this, uid, cleaned] { OnCleanedUp(uid, cleaned); });
  });
}

void PodWorkerService::OnCleanedUp(const std::string& uid, const Status& status) {
  Worker* worker = Find(uid);
  CHECK(worker != nullptr && worker->busy);
  if (!status.ok()) return EndFailed(*worker, Message(status));
  worker->state = Next(worker->state, WorkerEvent::kCleanedUp);
  worker->finished_at = deps_.clock.Now();
  worker->busy = false;
  if (worker->grant) worker->grant->pod.clear();
  puller_.Forget(uid);
  worker->restarts = {CrashBackoff(config_.crash_loop_max), {}};
  metrics_.ObserveWorker("terminated", worker->finished_at - worker->ending_since);
  store_.Save(*worker, {});
}

/// The next life, or whoever waited for this name; a pod that nobody recorded leaves no memory.
void PodWorkerService::AfterFinish(Worker& worker) {
  const std::string uid = worker.uid;
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
    puller_.Forget(uid);
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

void PodWorkerService::StepDone(Worker& worker) {
  worker.busy = false;
  if (worker.again) Advance(worker.uid);
}

}  // namespace splitlet::pod_worker
