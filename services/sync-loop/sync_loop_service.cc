#include "services/sync-loop/sync_loop_service.h"

#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/trace.h"
#include "services/sync-loop/grants/allocated.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

using Kind = NextCall::Kind;
constexpr const char* kNodeKey = "node";

v1::UpdatePodRequest::Kind ToProto(Kind kind) {
  switch (kind) {
    case Kind::kCreate: return v1::UpdatePodRequest::CREATE;
    case Kind::kUpdate: return v1::UpdatePodRequest::UPDATE;
    case Kind::kSync: return v1::UpdatePodRequest::SYNC;
    case Kind::kNone:
    case Kind::kKill: return v1::UpdatePodRequest::KIND_UNSPECIFIED;
  }
  UNREACHABLE();
}

}  // namespace

SyncLoopService::SyncLoopService(SyncLoopDeps deps, SyncLoopConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.metrics),
      sysctls_(config_.kernel_release, config_.allowed_unsafe_sysctls),
      orphan_options_{config_.node_annotation, config_.kill_foreign_pods},
      random_(config_.seed),
      book_({deps_.clock, deps_.loop, deps_.strands, deps_.files, deps_.table, deps_.log},
            config_.facts_dir, [this](const std::string& key) { OnSaved(key); }),
      calls_({deps_.clock, deps_.loop, deps_.strands, *deps_.worker, metrics_, deps_.log, random_},
             {.compare = [this](const std::string& key) { return Compare(key); },
              .build = [this](const std::string& key,
                              const NextCall& what) { return Build(key, what); },
              .answered = [this](const std::string& key, const OutgoingCall& call,
                                 const Status& status) { return OnAnswered(key, call, status); }}),
      resyncs_(deps_.loop, deps_.clock, [this](const std::string& key) { OnResyncDue(key); }),
      rejudge_(deps_.loop, deps_.clock, [this](const std::string& key) { OnWaitOver(key); }),
      tick_(deps_.loop, kTick, [this] { OnTick(); }) {
  deps_.desired.OnChange([this](const auto& change) { OnDesiredChanged(change); });
  deps_.workers.OnChange([this](const auto& change) { OnWorkersChanged(change); });
  deps_.runtime.OnChange([this](const auto& change) { OnRuntimeChanged(change); });
  deps_.podstatus.OnChange([this](const auto& change) {
    if (change.key == kNodeKey) OnNodeChanged();
  });
  deps_.pressure.OnChange([this](const auto& change) {
    if (change.key == kNodeKey) JudgeAllWaiting();
  });
  deps_.desired.OnState([this] { OnViewState(); });
  deps_.workers.OnState([this] { OnViewState(); });
  deps_.podstatus.OnState([this] { OnViewState(); });
}

void SyncLoopService::Start() {
  CHECK(deps_.loop.IsCurrent());
  started_ = deps_.clock.Now();
  book_.Read([this] {
    for (const auto& [key, entry] : book_.entries()) {
      TakeVictims(entry);
      calls_.Check(key);
    }
    JudgeAllWaiting();
  });
  rejudge_.Add(std::string(kAllKeys),
               kNodeWait);  // static pods wait no longer for the node's record
}

daemon::Health SyncLoopService::GetHealth() const {
  const std::string why = WhyNotJudging();
  return {.ready = why.empty(), .reason = why};
}

LoopView SyncLoopService::GetState() const {
  LoopView view;
  for (const auto& [key, entry] : book_.entries()) {
    if (entry.saved && entry.admitted()) ++view.admitted;
    if (entry.saved && entry.rejected()) ++view.rejected;
  }
  view.waiting = waiting_.size();
  if (!waiting_.empty()) view.waiting_reason = waiting_.begin()->second;
  for (const auto& suspect : Suspects()) view.orphans.push_back(suspect.key);
  view.foreign = {foreign_.begin(), foreign_.end()};
  return view;
}

void SyncLoopService::OnResync() { tick_.Kick(); }

void SyncLoopService::OnDesiredChanged(const bus::View<v1::DesiredRecord>::Change& change) {
  CHECK(deps_.loop.IsCurrent());
  if (!change.present_after) {
    pods_.erase(change.key);
    waiting_.erase(change.key);
    mismatch_.erase(change.key);
    sync_due_.erase(change.key);
    resyncs_.Remove(change.key);
    calls_.Forget(change.key);
    book_.SetTrace(change.key, change.traceparent);
    removed_.insert(change.key);
    JudgeAllWaiting();
    return;  // its admission goes with the next tick, when the worker has finished
  }
  removed_.erase(change.key);
  PodFacts facts;  // unknown: starts and stops nothing
  if (change.after != nullptr) facts = ReadPod(change.after);
  facts.traceparent = change.traceparent;
  // Put again by a start of config-source that has no memory of the trace: the change is the same.
  const PodFacts& before = pods_[change.key];
  if (facts.traceparent.empty() && before.incarnation == facts.incarnation &&
      before.generation == facts.generation)
    facts.traceparent = before.traceparent;
  if (facts.state == PodFacts::State::kUnknown)
    deps_.log.Error("a record of `desired` cannot be understood",
                    {KV("podUID", change.key), KV(kTraceIdField, TraceIdOf(facts.traceparent))});
  const bool wanted = facts.state == PodFacts::State::kWanted;
  pods_[change.key] = std::move(facts);
  JudgeSoon(change.key);
  if (!wanted) JudgeAllWaiting();  // an admission that was not granted yet holds nothing any more
  calls_.Check(change.key);
}

void SyncLoopService::OnWorkersChanged(const bus::View<v1::WorkerRecord>::Change& change) {
  CHECK(deps_.loop.IsCurrent());
  const std::string& key = change.key;
  const bool counted = StandingOf(key).counts;
  // One without a state is no worker: it tells config-source the number of a life.
  // Without that either, its files cannot be read.
  const bool only_found = change.after != nullptr && change.after->incarnation() != 0 &&
                          change.after->state() == v1::WORKER_STATE_UNSPECIFIED;
  if (!change.present_after || only_found) {
    workers_.erase(key);
  } else {
    WorkerFacts facts;  // unknown: starts and stops nothing
    if (change.after != nullptr) facts = ReadWorker(*change.after);
    if (ProbesMakeWork(workers_[key].probes_wrong, facts.probes_wrong))
      MakeDue(key, change.traceparent);
    workers_[key] = std::move(facts);
    if (workers_[key].state == WorkerFacts::State::kSyncing && pods_.contains(key))
      resyncs_.Add(
          key, ComputeResync(workers_[key], deps_.clock.Now(), config_.sync_frequency, random_));
  }
  JudgeSoon(key);
  if (counted && !StandingOf(key).counts) JudgeAllWaiting();
  calls_.Check(key);
}

void SyncLoopService::OnRuntimeChanged(const bus::View<v1::RuntimeRecord>::Change& change) {
  CHECK(deps_.loop.IsCurrent());
  if (change.after == nullptr) {
    runtime_.erase(change.key);
  } else {
    runtime_[change.key] = ReadRuntime(*change.after);
  }
  const bool work = change.after == nullptr || MakesWork(change.before.get(), *change.after);
  if (!work || !pods_.contains(change.key)) return;
  MakeDue(change.key, change.traceparent);
  calls_.Check(change.key);
}

void SyncLoopService::OnNodeChanged() {
  const auto record = deps_.podstatus.Find(kNodeKey);
  if (record != nullptr && record->has_node()) node_ = ReadNode(record->node());
  JudgeAllWaiting();
}

void SyncLoopService::OnWaitOver(const std::string& key) {
  if (key == kAllKeys) {
    JudgeAllWaiting();
  } else {
    JudgeSoon(key);
  }
}

void SyncLoopService::OnViewState() { JudgeAllWaiting(); }

void SyncLoopService::OnResyncDue(const std::string& key) {
  MakeDue(key, "");
  calls_.Check(key);
}

void SyncLoopService::MakeDue(const std::string& key, const std::string& traceparent) {
  std::string& trace = sync_due_[key];
  if (!traceparent.empty()) trace = traceparent;
}

void SyncLoopService::OnSaved(const std::string& key) {
  const auto* entry = book_.Find(key);
  const auto pod = pods_.find(key);
  if (!entry->admitted() && !entry->told && pod != pods_.end()) {
    const auto& record = entry->fact.record();
    deps_.events.Record({.warning = true,
                         .reason = record.reason(),
                         .message = record.message(),
                         .name_space = record.namespace_(),
                         .name = record.name(),
                         .uid = record.uid()});
  }
  TakeVictims(*entry);
  calls_.Check(key);
}

std::vector<std::string> SyncLoopService::Notes() const {
  std::vector<std::string> notes;
  for (const auto& key : book_.Unreadable())
    notes.push_back(
        fmt::format("the admission of pod {} cannot be read; \"splitletctl record "
                    "discard {}\" puts it aside",
                    key, key));
  return notes;
}

void SyncLoopService::DiscardRecord(const std::string& uid,
                                    std::function<void(StatusOr<std::vector<std::string>>)> done) {
  const std::string key = bus::KeyOf(uid);
  book_.PutAside(key, [this, key, done = std::move(done)](StatusOr<std::string> path) {
    if (!path.ok()) return done(path.status());
    JudgeSoon(key);
    calls_.Check(key);
    done(std::vector<std::string>{*std::move(path)});
  });
}

void SyncLoopService::OnTick() {
  CHECK(deps_.loop.IsCurrent());
  for (const auto& [key, facts] : pods_) {
    if (Compare(key).kind != Kind::kNone) calls_.Check(key);
  }
  JudgeAllWaiting();
  ForgetOldAdmissions();
  LookForOrphans();
  ReportForeign();
  SetGauges();
}

NextCall SyncLoopService::Compare(const std::string& key) const {
  const auto pod = pods_.find(key);
  if (pod == pods_.end() || book_.IsUnreadable(key)) return {};
  const auto* entry = book_.Find(key);
  const bool admitted = entry != nullptr && entry->saved && entry->admitted();
  return ComputeNextCall({.pod = &pod->second,
                          .worker = WorkerOf(key),
                          .worker_known = deps_.workers.LiveAndComplete(),
                          .admitted_incarnation = admitted ? entry->incarnation() : 0,
                          .running = IsRunning(key),
                          .preempted = IsPreempted(key),
                          .sync_due = sync_due_.contains(key)});
}

std::optional<OutgoingCall> SyncLoopService::Build(const std::string& key, const NextCall& what) {
  const PodFacts& facts = pods_.at(key);
  OutgoingCall call{.what = what, .traceparent = facts.traceparent};
  if (what.kind == Kind::kKill) {
    call.kill.set_uid(facts.uid);
    call.kill.set_incarnation(what.incarnation);
    // The same for every try of this start and every later one: the answer is the same too.
    call.kill.set_request_id(fmt::format("sync-loop/end/{}/{}", key, what.incarnation));
    if (IsPreempted(key)) {
      call.kill.set_request_id(fmt::format("sync-loop/preempt/{}/{}", key, what.incarnation));
      call.kill.set_evict(true);
      call.kill.set_reason(std::string(kPreempting));
      call.kill.set_message(std::string(kPreemptingMessage));
    }
    return call;
  }
  if (const auto due = sync_due_.extract(key);
      what.kind == Kind::kSync && !due.empty() && !due.mapped().empty())
    call.traceparent = due.mapped();
  call.update.set_kind(ToProto(what.kind));
  call.update.set_uid(facts.uid);
  call.update.set_incarnation(what.incarnation);
  call.update.set_generation(what.generation);
  call.update.set_request_id(NewRequestId(key));
  call.update.set_source(facts.source);
  const Clock::Time now = deps_.clock.Now();
  call.update.mutable_sent_at()->set_boot(now.boot);
  call.update.mutable_sent_at()->set_monotonic_ns(now.monotonic.count());
  if (what.kind == Kind::kSync) return call;
  auto pod = WithAllocated(facts.record->pod(), book_.Find(key)->fact.pod());
  if (!pod.ok()) {
    deps_.log.Error("a pod cannot be granted", {KV("podUID", key), KV("err", pod.status()),
                                                KV(kTraceIdField, TraceIdOf(facts.traceparent))});
    return std::nullopt;
  }
  call.update.set_pod(std::move(*pod));
  return call;
}

bool SyncLoopService::OnAnswered(const std::string& key, const OutgoingCall& call,
                                 const Status& status) {
  if (!pods_.contains(key)) return false;
  const Kind kind = call.what.kind;
  if (kind == Kind::kKill) return true;
  if (!status.ok()) {
    if (kind == Kind::kSync && !sync_due_.contains(key)) MakeDue(key, call.traceparent);
    return true;
  }
  resyncs_.Remove(key);
  resyncs_.Add(key, random_.Jitter(config_.sync_frequency, 0.5));
  return true;
}

std::string SyncLoopService::NewRequestId(const std::string& key) {
  return fmt::format("sync-loop/{}/{}/{}", started_.monotonic.count(), ++last_request_, key);
}

const WorkerFacts* SyncLoopService::WorkerOf(const std::string& key) const {
  const auto it = workers_.find(key);
  return it == workers_.end() ? nullptr : &it->second;
}

bool SyncLoopService::IsRunning(const std::string& key) const {
  const auto it = runtime_.find(key);
  return it != runtime_.end() && it->second.running;
}

bool SyncLoopService::HasStopped(const std::string& key, int64_t incarnation) const {
  using State = WorkerFacts::State;
  const WorkerFacts* worker = WorkerOf(key);
  if (worker == nullptr || worker->state == State::kUnknown) return false;
  if (worker->incarnation > incarnation) return true;
  return worker->incarnation == incarnation &&
         (worker->state == State::kTerminated || worker->state == State::kFinished);
}

}  // namespace splitlet::sync_loop
