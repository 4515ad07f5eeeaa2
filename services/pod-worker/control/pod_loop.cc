#include "services/pod-worker/control/pod_loop.h"

#include <utility>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/bus/bus.h"
#include "libs/cri/incarnation.h"
#include "services/pod-worker/control/start_step.h"
#include "services/pod-worker/images/pulls_text.h"
#include "services/pod-worker/pod/events.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kIdsRetry = 10s;
constexpr const char* kPastDeadline =
    "Pod was active on the node longer than the specified deadline";

}  // namespace

PodLoop::PodLoop(const exec::Env& env)
    : due_(env.loop, env.clock, [this](const std::string& uid) { Advance(uid); }) {}

void PodLoop::Connect(const Deps& deps) {
  CHECK(!deps_);
  deps_.emplace(deps);
}

void PodLoop::AdvanceWith(const std::string& uid, std::shared_ptr<const cri::PodListing> listing) {
  Worker* worker = Find(uid);
  if (worker == nullptr || !deps_->recovery.is_listed() || stopping_) return;
  worker->On(ActivityEvent::kWoken);
  if (worker->activity != Activity::kIdle) return;
  switch (worker->state) {
    case WorkerState::kSyncing: return AdvanceSyncing(*worker, std::move(listing));
    case WorkerState::kTerminating:
      deps_->probes.OnEnding(uid);
      return deps_->terminator.Inspect(*worker);
    case WorkerState::kTerminated:
      ForgetProbes(*worker);
      return deps_->terminator.TearDown(*worker);
    case WorkerState::kFinished: ForgetProbes(*worker); return AfterFinish(*worker);
  }
}

void PodLoop::AdvanceSyncing(Worker& worker, std::shared_ptr<const cri::PodListing> listing) {
  const bool granted = worker.grant && desired_ready_;
  const std::optional<Duration> left = DeadlineLeft(worker);
  const Clock::Time held_until = deps_->holds.HeldUntil(worker.uid);
  const auto wait = MustPassGate(worker) ? deps_->gate.WaitOf(worker) : StaticPodStartGate::Wait{};
  const bool past_deadline = left && *left <= Duration{0};
  if (granted && left && !past_deadline) due_.Add(worker.uid, *left);
  switch (DecideStart({.granted = granted,
                       .past_deadline = past_deadline,
                       .held = static_cast<bool>(held_until),
                       .name_taken = !wait.text.empty(),
                       .lacks_user_ids = worker.traits.user_namespace && !worker.user_ids})) {
    case StartStep::kNone: return;
    case StartStep::kEnd: return EndPastDeadline(worker);
    case StartStep::kAwaitHold: return due_.Add(worker.uid, held_until - deps_->env.clock.Now());
    case StartStep::kAwaitName: return AwaitName(worker, wait);
    case StartStep::kGiveUserIds: PassGate(worker); return GiveUserIds(worker);
    case StartStep::kSync: PassGate(worker); return BeginSync(worker, std::move(listing));
  }
}

void PodLoop::BeginSync(Worker& worker, std::shared_ptr<const cri::PodListing> listing) {
  if (const Duration wait = deps_->objects.Prepare(worker); wait > Duration{0})
    return due_.Add(worker.uid, wait);
  if (!worker.syncs.synced_once) deps_->keeper.OnPodsChanged();
  deps_->syncs.Begin(worker, std::move(listing));
}

void PodLoop::AdvanceAll() {
  for (const auto& uid : deps_->workers.Uids()) {
    const Worker* worker = Find(uid);
    if (worker == nullptr || worker->state != WorkerState::kSyncing) {
      Advance(uid);
    } else if (deps_->recovery.is_listed() && desired_ready_) {
      deps_->resyncs.AddNow(uid);
    }
  }
}

void PodLoop::OnStepEnded(Worker& worker, bool again) {
  if (again) worker.On(ActivityEvent::kWoken);
  const bool woken = worker.activity == Activity::kStepThenAgain;
  worker.On(ActivityEvent::kStepEnded);
  if (woken) Advance(worker.uid);
}

void PodLoop::OnPodChanged(const std::string& uid) {
  const Worker* worker = Find(uid);
  if (worker != nullptr && worker->state == WorkerState::kSyncing) Advance(uid);
}

void PodLoop::OnObjectsChanged() {
  for (const auto& [uid, worker] : deps_->workers)
    if (worker->state == WorkerState::kSyncing &&
        (worker->traits.shows_objects || worker->trouble.Any()))
      due_.Add(uid, Duration{0});
}

/// A pod that waits for an answer is due in any case.
void PodLoop::OnObjectsChanged(const std::string& uid) {
  const Worker* worker = Find(uid);
  if (worker == nullptr || worker->state != WorkerState::kSyncing) return;
  if (worker->traits.shows_objects || worker->trouble.Any() || due_.Contains(uid))
    due_.Add(uid, Duration{0});
}

/// A pod that could not start may wait for an address; probes on the host's network go to the new
/// address.
void PodLoop::OnAddresses() {
  for (const auto& [uid, worker] : deps_->workers)
    if (worker->state == WorkerState::kSyncing &&
        (worker->traits.host_network || worker->trouble.Any()))
      due_.Add(uid, Duration{0});
}

void PodLoop::OnDesiredReady() {
  const bool first = !std::exchange(desired_ready_, true);
  for (const auto& uid : deps_->workers.Uids())
    if (const Worker* worker = Find(uid)) deps_->gone.ForgetIfGone(*worker);
  if (first) AdvanceAll();
}

void PodLoop::OnSeen(Worker& worker, const v1::ObservedPod& seen) {
  if (!worker.traits.has_probes) return;
  const kube::Pod pod = worker.grant->pod.Parse();
  deps_->probes.OnSeen({pod, cri::PresentIncarnation(seen, worker.incarnation)});
  worker.probes = deps_->probe_results.Of(worker.uid);
}

void PodLoop::OnProbed(const std::string& uid, bool decides) {
  Worker* worker = Find(uid);
  if (worker == nullptr) return;
  worker->probes = deps_->probe_results.Of(uid);
  deps_->store.PutWorkers(*worker);
  deps_->probes.Wake(uid);
  if (decides && worker->state == WorkerState::kSyncing) Advance(uid);
}

void PodLoop::ForgetProbes(Worker& worker) {
  deps_->probes.Forget(worker.uid);
  worker.probes.clear();
}

Worker* PodLoop::WaitingFor(const PullRequest& pull) const {
  Worker* worker = Find(pull.uid);
  const bool same = worker != nullptr && worker->incarnation == pull.incarnation;
  return same && worker->state == WorkerState::kSyncing ? worker : nullptr;
}

void PodLoop::OnPulled(Worker& worker, const PullResult& result) {
  worker.waits_for =
      PullsText(deps_->puller.MemoryOf(worker.uid), worker.waits_for, deps_->env.clock.WallNow());
  for (const auto& [container, reason] : result.waiting_reasons)
    worker.waiting_reasons[container] = reason;
  if (result.sync_at) due_.Add(worker.uid, *result.sync_at - deps_->env.clock.Now());
  result.sync_now ? Advance(worker.uid) : deps_->store.PutWorkers(worker);
}

PodNeed PodLoop::NeedOf(const std::string& uid) const {
  const Worker* worker = Find(uid);
  if (worker != nullptr) {
    if (worker->state == WorkerState::kFinished)
      return worker->removal != Removal::kNone || worker->kill.evicted() || worker->orphan
                 ? PodNeed::kNothing
                 : PodNeed::kRemains;
    return worker->activity == Activity::kIdle ? PodNeed::kNewest : PodNeed::kEverything;
  }
  const std::string key = bus::KeyOf(uid);
  if (deps_->unreadable.Contains(key)) return PodNeed::kEverything;
  // Without a live view a source may want a pod that this process does not know yet.
  return deps_->desired.Contains(key) || !deps_->desired.live() ? PodNeed::kNewest
                                                                : PodNeed::kNothing;
}

/// A static pod waits until every other pod of its full name is gone.
bool PodLoop::MustPassGate(const Worker& worker) {
  return worker.traits.is_static && !worker.started;
}

void PodLoop::AwaitName(Worker& worker, const StaticPodStartGate::Wait& wait) {
  if (!wait.leftover.empty()) deps_->gate.Inspect(worker, wait.leftover);
  SetWaitsFor(worker, wait.text);
}

void PodLoop::PassGate(Worker& worker) {
  if (MustPassGate(worker)) SetWaitsFor(worker, "");
  worker.started = true;
}

void PodLoop::SetWaitsFor(Worker& worker, const std::string& text) {
  if (text == worker.waits_for) return;
  worker.waits_for = text;
  deps_->store.PutWorkers(worker);
}

/// The ids are on disk before anything runs with them: the end of the save advances the pod.
void PodLoop::GiveUserIds(Worker& worker) {
  StatusOr<UserIds> given = Unavailable("the ids of a pod whose file cannot be read are not known");
  if (deps_->unreadable.empty()) given = deps_->user_ids.Give(worker.uid);
  if (given.ok()) {
    worker.user_ids = *given;
    return deps_->store.Save(worker, {});
  }
  const std::string why = fmt::format("user namespace: {}", Message(given.status()));
  if (worker.trouble.Set(Trouble::kUserIds, why))
    PodEvents(deps_->events, RefOf(worker))
        .Warning("FailedCreatePodSandBox", "Failed to create pod sandbox: " + why);
  deps_->store.PutWorkers(worker);
  due_.Add(worker.uid, kIdsRetry);
}

/// Unset: the pod has no deadline.
std::optional<Duration> PodLoop::DeadlineLeft(const Worker& worker) const {
  if (!worker.traits.active_deadline) return std::nullopt;
  return worker.times.started_at + std::chrono::seconds{*worker.traits.active_deadline} -
         deps_->env.clock.Now();
}

void PodLoop::EndPastDeadline(Worker& worker) {
  PodEvents(deps_->events, RefOf(worker)).Normal("DeadlineExceeded", kPastDeadline);
  deps_->terminator.Kill(worker, {.reason = "DeadlineExceeded", .message = kPastDeadline});
  deps_->store.Save(worker, {.permanent = true, .fsync = true});
}

/// The next incarnation, or a pod that waited for this name. A pod that no source recorded leaves
/// no memory.
void PodLoop::AfterFinish(Worker& worker) {
  const std::string uid = worker.uid;
  deps_->puller.Forget(uid);
  deps_->objects.Forget(uid);
  deps_->user_ids.Release(uid);  // the file of a finished pod has none
  worker.user_ids.reset();
  worker.restarts.Clear();
  deps_->gate.OnFinished(worker);
  deps_->keeper.OnPodsChanged();
  const std::vector<std::string> waiting = deps_->gate.WaitingFor(worker);
  if (worker.next) {
    deps_->requests.BeginNext(worker);
  } else if (worker.orphan && worker.incarnation != 0) {
    worker.orphan = false;  // an incarnation before these containers is remembered still
    deps_->store.Save(worker, {});
  } else if (worker.orphan) {
    deps_->workers.Erase(uid);
    deps_->store.Forget(uid);
    // A source that took up the pod while it ended, and wants it no more, waits for an answer.
    deps_->requests.ApplyDesired(uid);
  } else {
    deps_->gone.ForgetIfGone(worker);
    if (const auto record = deps_->desired.Find(bus::KeyOf(uid));
        record && record->incarnation() > worker.incarnation)
      deps_->requests.ApplyDesired(uid);
  }
  for (const auto& other : waiting) Advance(other);
}

}  // namespace splitlet::pod_worker
