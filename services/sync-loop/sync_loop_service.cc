#include "services/sync-loop/sync_loop_service.h"

#include <map>
#include <utility>

#include "libs/base/trace.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {

SyncLoopService::SyncLoopService(SyncLoopDeps deps, const SyncLoopConfig& config)
    : deps_(std::move(deps)),
      metrics_(deps_.env.metrics, ReasonLabels()),
      store_({.env = deps_.env, .files = deps_.files, .table = deps_.table, .metrics = metrics_},
             config.admissions_dir, [this](const std::string& key) { OnSaved(key); }),
      victims_(known_, store_, deps_.events),
      grants_({.env = deps_.env,
               .client = *deps_.worker,
               .workers = deps_.workers,
               .known = known_,
               .store = store_,
               .victims = victims_,
               .metrics = metrics_,
               .on_sent = [this](const std::string& key) { admitter_.OnHolderChanged(key); }},
              config.seed),
      admitter_(
          {.env = deps_.env,
           .desired = deps_.desired,
           .workers = deps_.workers,
           .pressure = deps_.pressure,
           .podstatus = deps_.podstatus,
           .known = known_,
           .store = store_,
           .victims = victims_,
           .may_be_granted = [this](const std::string& key) { return grants_.MayBeGranted(key); },
           .events = deps_.events,
           .metrics = metrics_},
          config),
      orphans_({.env = deps_.env,
                .config_source = *deps_.config_source,
                .worker = *deps_.worker,
                .desired = deps_.desired,
                .workers = deps_.workers,
                .runtime = deps_.runtime,
                .known = known_,
                .store = store_,
                .metrics = metrics_},
               {config.node_annotation, config.kill_unmanaged_pods}),
      tick_(deps_.env.loop, kTick, [this] { OnTick(); }) {
  FollowViews();
}

void SyncLoopService::FollowViews() {
  deps_.desired.OnChange([this](const auto& change) { OnDesiredChanged(change); });
  deps_.workers.OnChange([this](const auto& change) { OnWorkersChanged(change); });
  deps_.runtime.OnChange([this](const auto& change) { OnRuntimeChanged(change); });
  deps_.podstatus.OnChange([this](const auto& change) {
    if (change.key == bus::kNodeKey) admitter_.OnNodeChanged();
  });
  deps_.pressure.OnChange([this](const auto& change) {
    if (change.key == bus::kNodeKey) admitter_.DecideAllWaiting();
  });
  deps_.desired.OnState([this] { OnViewState(); });
  deps_.workers.OnState([this] { OnViewState(); });
  deps_.podstatus.OnState([this] { OnViewState(); });
}

void SyncLoopService::Start() {
  CHECK(deps_.env.loop.IsCurrent());
  grants_.Start();
  store_.Read([this] { OnAdmissionsRead(); });
  admitter_.Start();
}

void SyncLoopService::OnAdmissionsRead() {
  for (const auto& [key, entry] : store_.entries()) {
    admitter_.OnHolderChanged(key);
    KillVictims(entry);
    grants_.Check(key);
  }
  admitter_.DecideAllWaiting();
}

daemon::Health SyncLoopService::GetHealth() const {
  const auto why = admitter_.WhyNotDeciding();
  return {.ready = !why, .reason = why ? TextOf(*why) : ""};
}

LoopView SyncLoopService::GetState() const {
  LoopView view;
  for (const auto& [key, entry] : store_.entries()) {
    if (entry.saved && entry.admitted()) ++view.admitted;
    if (entry.saved && entry.rejected()) ++view.rejected;
  }
  view.waiting = admitter_.waiting();
  view.waiting_reason = admitter_.WaitingReason();
  for (const auto& suspect : orphans_.Suspects()) view.orphans.push_back(suspect.key);
  view.unmanaged = {orphans_.unmanaged().begin(), orphans_.unmanaged().end()};
  return view;
}

void SyncLoopService::OnResync() { tick_.Kick(); }

void SyncLoopService::OnDesiredChanged(const bus::View<v1::DesiredRecord>::Change& change) {
  CHECK(deps_.env.loop.IsCurrent());
  const std::string& key = change.key;
  PodDigest before;
  if (const PodDigest* known = known_.Pod(key)) before = *known;
  known_.OnDesired(change);
  admitter_.OnHolderChanged(key);
  const PodDigest* pod = known_.Pod(key);
  if (pod == nullptr) {
    grants_.Forget(key);
    store_.SetTrace(key, change.traceparent);
    admitter_.OnDesiredGone(key);
    return;
  }
  if (pod->state == PodDigest::State::kUnknown)
    deps_.env.log.Error("cannot parse a record of `desired`, its pod is left as it is",
                        {KV("podUID", key), KV(kTraceIdField, TraceIdOf(pod->traceparent))});
  if (IsEdited(before, *pod)) admitter_.OnEdited(key, before.pod);
  admitter_.OnDesired(key);
  grants_.Check(key);
}

void SyncLoopService::OnWorkersChanged(const bus::View<v1::WorkerRecord>::Change& change) {
  CHECK(deps_.env.loop.IsCurrent());
  const std::string& key = change.key;
  if (key == bus::kNodeKey) return admitter_.OnDevices(change.after.get());
  const bool held_resources = admitter_.HoldsResources(key);
  known_.OnWorker(change);
  admitter_.OnHolderChanged(key);
  admitter_.DecideSoon(key);
  if (held_resources && !admitter_.HoldsResources(key)) admitter_.DecideAllWaiting();
  grants_.Check(key);
}

void SyncLoopService::OnRuntimeChanged(const bus::View<v1::RuntimeRecord>::Change& change) {
  CHECK(deps_.env.loop.IsCurrent());
  known_.OnRuntime(change);
  admitter_.OnHolderChanged(change.key);
  const bool work = change.after == nullptr || MakesWork(change.before.get(), *change.after);
  if (!work || known_.Pod(change.key) == nullptr) return;
  grants_.MakeSyncDue(change.key, change.traceparent);
  grants_.Check(change.key);
}

void SyncLoopService::OnViewState() { admitter_.DecideAllWaiting(); }

void SyncLoopService::OnSaved(const std::string& key) {
  admitter_.OnSaved(key);
  KillVictims(*store_.Find(key));
  grants_.Check(key);
}

void SyncLoopService::KillVictims(const AdmissionStore::Entry& entry) {
  for (const auto& victim : victims_.Add(entry)) {
    admitter_.OnHolderChanged(victim);
    grants_.Check(victim);
  }
}

std::vector<std::string> SyncLoopService::Notes() const {
  std::vector<std::string> notes;
  for (const auto& key : store_.Unreadable())
    notes.push_back(
        fmt::format("the saved admission of pod {} cannot be read; \"splitletctl record "
                    "discard {}\" moves it away",
                    key, key));
  return notes;
}

void SyncLoopService::DiscardRecord(const std::string& uid,
                                    std::function<void(StatusOr<std::vector<std::string>>)> done) {
  const std::string key = bus::KeyOf(uid);
  store_.PutAside(key, [this, key, done = std::move(done)](StatusOr<std::string> path) {
    if (!path.ok()) return done(path.status());
    admitter_.DecideSoon(key);
    grants_.Check(key);
    done(std::vector<std::string>{*std::move(path)});
  });
}

void SyncLoopService::OnTick() {
  CHECK(deps_.env.loop.IsCurrent());
  grants_.CheckAll();
  admitter_.DecideAllWaiting();
  admitter_.ForgetOldAdmissions();
  admitter_.CheckAllocated();
  orphans_.OnTick();
  SetGauges();
}

void SyncLoopService::SetGauges() {
  std::map<bool, int> desired{{false, 0}, {true, 0}}, active{{false, 0}, {true, 0}};
  int mirrors = 0;
  for (const auto& [key, pod] : known_.pods()) {
    if (pod.state == PodDigest::State::kMirror) ++mirrors;
    if (pod.state != PodDigest::State::kWanted) continue;
    ++desired[pod.is_static];
    const auto* entry = store_.Find(key);
    if (entry != nullptr && entry->admitted() && !known_.HasStopped(key, entry->incarnation()))
      ++active[pod.is_static];
  }
  for (const bool is_static : {false, true}) {
    const prometheus::Labels labels{{"static", is_static ? "true" : ""}};
    metrics_.desired_pods.Add(labels).Set(desired[is_static]);
    metrics_.active_pods.Add(labels).Set(active[is_static]);
  }
  metrics_.mirror_pods.Set(mirrors);
  metrics_.waiting_pods.Set(static_cast<double>(admitter_.waiting()));
  metrics_.unmanaged_pods.Set(static_cast<double>(orphans_.unmanaged().size()));
}

}  // namespace splitlet::sync_loop
