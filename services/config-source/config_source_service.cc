#include "services/config-source/config_source_service.h"

#include <algorithm>
#include <utility>

#include "libs/base/span.h"
#include "libs/base/trace.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/desired/worker_incarnation.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {
namespace {

std::string EventMessage(const SourcePod& pod, const std::string& source, const std::string& why) {
  return fmt::format("Error validating pod {}({}) from {} {}",
                     kube::FullName(pod.name, pod.name_space), pod.uid, source, why);
}

constexpr uint64_t kNumbersSkipped = 1000;  // at most; of incarnations

}  // namespace

ConfigSourceService::ConfigSourceService(ConfigSourceDeps deps)
    : deps_(std::move(deps)),
      store_({.env = deps_.env,
              .records = deps_.records,
              .table = std::move(deps_.table),
              .metrics = *deps_.metrics},
             [this](const std::string& uid) { OnPut(uid); }),
      random_(deps_.seed) {
  deps_.workers.OnChange([this](const auto& change) { OnWorker(change.key); });
  deps_.workers.OnState([this] { OnWorkers(); });
  for (auto& source : deps_.sources) {
    deps_.metrics->AddSource(source->name(), OperationNames());
    const std::string name = source->name();
    sources_[name].source = std::move(source);
  }
}

ConfigSourceService::~ConfigSourceService() = default;

void ConfigSourceService::Start() {
  CHECK(deps_.env.loop.IsCurrent());
  store_.Load([this] { OnLoaded(); });
}

void ConfigSourceService::OnLoaded() {
  stage_ = Stage::kAwaitingWorkers;
  std::vector<std::pair<std::string, const DesiredPod*>> wanted;
  for (const auto& [uid, pod] : store_.pods())
    if (!pod.IsRemoved()) wanted.emplace_back(uid, &pod);
  // After a crash between the new pod of an edited manifest and the removal of its old one, both
  // are saved for one path: the later one is its last good pod.
  std::ranges::sort(wanted, {}, [](const auto& entry) { return entry.second->incarnation; });
  std::map<std::string, std::vector<SourcePodRef>> remembered;
  std::vector<std::string> unconfigured;
  for (const auto& [uid, pod] : wanted) {
    if (!sources_.contains(pod->source)) unconfigured.push_back(uid);
    remembered[pod->source].push_back(std::make_shared<const SourcePod>(
        SourcePod{.uid = uid,
                  .name = pod->name,
                  .name_space = pod->name_space,
                  .origin = pod->origin,
                  .bytes = pod->pod,
                  .unconfirmed = pod->state == PodState::kUnconfirmed}));
  }
  for (const auto& uid : unconfigured) Remove(uid);
  for (auto& [name, state] : sources_) {
    state.source->Start(std::move(remembered[name]),
                        [this, &state = state](const SourceSet& set) { OnSet(state, set); });
  }
  OnWorkers();
  PutCompleteness();
}

void ConfigSourceService::OnSet(SourceState& state, const SourceSet& set) {
  CHECK(deps_.env.loop.IsCurrent());
  state.set = set;
  if (state.stage == SourceStage::kUnread) state.stage = SourceStage::kIncomplete;
  // Another source may wait for a UID that this source gave up.
  if (Merge(state)) MergeAll();
  PutCompleteness();
}

void ConfigSourceService::MergeAll() {
  for (auto& [name, state] : sources_)
    if (state.stage != SourceStage::kUnread) Merge(state);
}

/// True when a pod was removed.
bool ConfigSourceService::Merge(SourceState& state) {
  bool removed = false;
  const MergeResult result = ComputeMerge(store_.pods(), state.source->name(), state.set);
  AcceptUnchanged(state, result);
  for (const Change& change : result.changes) {
    if (!Apply(state, change)) continue;
    removed = removed || change.operation == Operation::kRemove;
    deps_.metrics->operations
        .Add({{"source", state.source->name()},
              {"operation", std::string(OperationName(change.operation))}})
        .Increment();
    LogChange(change);
  }
  ReportIgnored(state, result.ignored);
  CountPods();
  return removed;
}

void ConfigSourceService::LogChange(const Change& change) const {
  const auto at = store_.pods().find(change.uid);
  if (at == store_.pods().end()) return;  // a mirror pod has gone
  const DesiredPod& pod = at->second;
  const std::vector<LogField> fields = {KV("operation", OperationName(change.operation)),
                                        KV("pod", kube::PodKey(pod.name_space, pod.name)),
                                        KV("podUID", change.uid),
                                        KV("source", pod.source),
                                        KV("path", pod.origin),
                                        KV(kTraceIdField, TraceIdOf(pod.traceparent))};
  // Statuses that the node itself wrote come back as changes.
  if (change.operation == Operation::kReconcile || pod.IsMirror())
    return deps_.env.log.Debug("desired pod changed", fields);
  deps_.env.log.Info("desired pod changed", fields);
}

/// Pods of the set that mean the same as their records: puts their problems.
void ConfigSourceService::AcceptUnchanged(SourceState& state, const MergeResult& result) {
  std::set<std::string> skip;
  for (const auto& change : result.changes) skip.insert(change.uid);
  std::set<SourcePodRef> ignored;
  for (const auto& entry : result.ignored) ignored.insert(entry.pod);
  // Filled before the first put, because each put asks whether all pods of the source are put.
  state.uids.clear();
  for (const WantedPod& wanted : state.set.pods)
    if (!ignored.contains(wanted.pod)) state.uids.insert(wanted.pod->uid);
  for (const WantedPod& wanted : state.set.pods) {
    if (ignored.contains(wanted.pod) || skip.contains(wanted.pod->uid)) continue;
    store_.SetBaseline(wanted.pod->uid, wanted.pod->bytes);
    if (!wanted.unconfirmed) store_.Confirm(wanted.pod->uid);
    store_.PutAgain(wanted.pod->uid, wanted.problem);
  }
}

/// False: a new pod waits for `workers`, or the record of a later version blocks its pod.
bool ConfigSourceService::Apply(SourceState& state, const Change& change) {
  if (store_.IsBlocked(change.uid)) return false;
  switch (change.operation) {
    case Operation::kRemove: Remove(change.uid); return true;
    case Operation::kAdd:
      // The containers of a pod without a saved record may run, and another number than theirs
      // would make them an earlier incarnation. A mirror pod has no worker.
      if (stage_ == Stage::kAwaitingWorkers && !change.pod->mirror &&
          !store_.pods().contains(change.uid))
        return false;
      Add(state.source->name(), change);
      return true;
    case Operation::kUpdate:
    case Operation::kDelete:
    case Operation::kReconcile: Update(change); return true;
  }
  UNREACHABLE();
}

void ConfigSourceService::Add(const std::string& source, const Change& change) {
  const WallTime now = deps_.env.clock.WallNow();
  const auto at = store_.pods().find(change.uid);
  const auto worker = WorkerOf(change.uid);
  const SourcePod& pod = *change.pod;
  int64_t after = 0;
  for (const auto& [uid, other] : store_.pods()) {
    newest_ = std::max(newest_, other.incarnation);
    if (!pod.origin.empty() && other.source == source && other.origin == pod.origin)
      after = std::max(after, other.incarnation);
  }
  // If the wall clock was set back, a pod that is forgotten here could get the number of an
  // incarnation that pod-worker has as finished. Skipping a random count makes that unlikely;
  // CatchUp corrects a lower number when the worker shows.
  if (NextNumber(0, now) < newest_)
    after = newest_ + static_cast<int64_t>(random_.Below(kNumbersSkipped));
  const Incarnation numbers = ChooseIncarnation(at == store_.pods().end() ? nullptr : &at->second,
                                                worker ? &*worker : nullptr, now, after);
  Set(change.uid, {.name = pod.name,
                   .name_space = pod.name_space,
                   .source = source,
                   .origin = pod.origin,
                   .state = pod.mirror ? PodState::kMirror : PodState::kWanted,
                   .incarnation = numbers.incarnation,
                   .generation = numbers.generation,
                   .seen_at = now,
                   .pod = StampPod(*pod.bytes, nullptr, source, now),
                   .baseline = pod.bytes});
}

void ConfigSourceService::Remove(const std::string& uid) {
  DesiredPod pod = store_.pods().at(uid);
  // No worker has to terminate it first.
  if (pod.IsMirror()) return store_.DropMirror(uid, MakeTraceparent(random_));
  pod.On(PodEvent::kWithdrawn);
  pod.generation = NextNumber(pod.generation, deps_.env.clock.WallNow());
  pod.problem.clear();
  Set(uid, std::move(pod));
}

void ConfigSourceService::Set(const std::string& uid, DesiredPod pod) {
  Span span = Span::Begin("pod changed", random_);
  span.Set("k8s.pod.uid", uid);
  span.Set("k8s.pod.name", pod.name);
  span.Set("k8s.namespace.name", pod.name_space);
  span.Set("splitlet.source", pod.source);
  pod.traceparent = span.traceparent();
  newest_ = std::max(newest_, pod.incarnation);
  store_.Set(uid, std::move(pod));
}

void ConfigSourceService::Update(const Change& change) {
  DesiredPod pod = store_.pods().at(change.uid);
  const WallTime now = deps_.env.clock.WallNow();
  const bool status_only = change.operation == Operation::kReconcile;
  pod.pod = status_only ? WithStatus(*pod.pod, *change.pod->bytes)
                        : StampPod(*change.pod->bytes, pod.pod.get(), pod.source, now);
  pod.baseline = change.pod->bytes;
  pod.On(PodEvent::kDelivered);
  pod.name = change.pod->name;
  pod.name_space = change.pod->name_space;
  pod.origin = change.pod->origin;
  pod.problem.clear();
  // The node is the author of the status, so this is no change of the pod and begins no trace.
  if (status_only) return store_.Set(change.uid, std::move(pod));
  pod.generation = NextNumber(pod.generation, now);
  Set(change.uid, std::move(pod));
}

void ConfigSourceService::ReportIgnored(SourceState& state, const std::vector<Ignored>& ignored) {
  const std::string& source = state.source->name();
  const auto reported = std::exchange(state.ignored, {});
  std::vector<SourcePodRef> duplicates = state.set.duplicates;
  for (const auto& [pod, duplicate_name, reason] : ignored) {
    Problem problem{pod->origin,
                    fmt::format("pod {}: {}", kube::PodKey(pod->name_space, pod->name), reason),
                    deps_.env.clock.WallNow()};
    for (const auto& old : reported)
      if (old.where == problem.where && old.reason == problem.reason) problem.since = old.since;
    state.ignored.push_back(std::move(problem));
    if (duplicate_name) duplicates.push_back(pod);
  }
  RecordDuplicates(state, duplicates);
  state.ignored_log.Report(
      deps_.env.log, source, state.ignored, [&state](const std::string& origin) {
        return std::ranges::any_of(state.set.pods, [&origin](const WantedPod& wanted) {
          return wanted.pod->origin == origin;
        });
      });
}

/// Records one event for each pod while it is ignored.
void ConfigSourceService::RecordDuplicates(SourceState& state,
                                           const std::vector<SourcePodRef>& duplicates) {
  std::set<std::string> uids;
  for (const auto& pod : duplicates) {
    uids.insert(pod->uid);
    if (state.events_recorded.contains(pod->uid)) continue;
    deps_.events.Record(
        {.warning = true,
         .reason = "FailedValidation",
         .message = EventMessage(*pod, state.source->name(), DuplicateReason(pod->name)),
         .name_space = pod->name_space,
         .name = pod->name,
         .uid = pod->uid});
  }
  state.events_recorded = std::move(uids);
}

void ConfigSourceService::OnWorkers() {
  if (stage_ == Stage::kReadingFiles) return;
  if (deps_.workers.LiveAndComplete()) OnWorkersComplete();
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : store_.pods()) uids.push_back(uid);
  for (const auto& uid : uids) {
    WithdrawIfFinished(uid);
    CatchUpWith(uid);
  }
  DiscardGone();
}

/// Moves broken files of pods away that no source, no worker and no container needs; `workers`
/// shows pods that only the runtime has, too.
void ConfigSourceService::DiscardGone() {
  if (stage_ == Stage::kReadingFiles || !AllComplete() || !deps_.workers.LiveAndComplete()) return;
  for (const RecordKey& key : store_.Broken()) {
    if (deps_.workers.Contains(key.name())) continue;
    store_.PutAside(key, [this](const StatusOr<std::string>& path) {
      if (path.status().code() != StatusCode::kNotFound)
        deps_.env.log.LogIfError(path.status(),
                                 "discard the unreadable record of a pod that is gone");
    });
  }
}

void ConfigSourceService::OnWorkersComplete() {
  if (stage_ != Stage::kAwaitingWorkers) return;
  stage_ = Stage::kRunning;
  MergeAll();
  PutCompleteness();
}

void ConfigSourceService::OnWorker(const std::string& key) {
  if (stage_ == Stage::kReadingFiles) return;
  if (!deps_.workers.Contains(key)) store_.Forget(RecordKey::Named(key));
  const auto record = deps_.workers.Find(key);
  if (record == nullptr) return DiscardGone();
  WithdrawIfFinished(record->uid());
  CatchUpWith(record->uid());
}

std::optional<WorkerIncarnation> ConfigSourceService::WorkerOf(const std::string& uid) const {
  return WorkerIncarnationOf(deps_.workers.Find(RecordKey::OfUid(uid).name()).get(), uid,
                             store_.WithdrawnIncarnation(uid), deps_.env.clock.Now().boot);
}

/// A finished worker never changes back, so any view will do. Until `workers` drops the pod, its
/// file distinguishes a removed incarnation from one that ended by itself and is still wanted.
void ConfigSourceService::WithdrawIfFinished(const std::string& uid) {
  const auto at = store_.pods().find(uid);
  if (at == store_.pods().end() || !at->second.IsRemoved()) return;
  const auto worker = WorkerOf(uid);
  if (!worker || !IsOver(at->second, *worker)) return;
  store_.Withdraw(uid, MakeTraceparent(random_));
}

void ConfigSourceService::CatchUpWith(const std::string& uid) {
  const auto at = store_.pods().find(uid);
  const auto worker = WorkerOf(uid);
  if (at == store_.pods().end() || !worker) return;
  const auto numbers = CatchUp(at->second, *worker, deps_.env.clock.WallNow());
  if (!numbers) return;
  DesiredPod pod = at->second;
  pod.incarnation = numbers->incarnation;
  pod.generation = numbers->generation;
  Set(uid, std::move(pod));
  if (worker->end == WorkerEnd::kShutdown) {
    deps_.env.log.Info(
        "starting pod again after the shutdown of the node",
        {KV("podUID", uid), KV(kTraceIdField, TraceIdOf(store_.pods().at(uid).traceparent))});
    return;
  }
  deps_.env.log.Warn(
      "pod-worker has a newer incarnation, adopting it",
      {KV("podUID", uid), KV(kTraceIdField, TraceIdOf(store_.pods().at(uid).traceparent))});
}

void ConfigSourceService::OnPut(const std::string& uid) {
  WithdrawIfFinished(uid);
  if (!store_.pods().contains(uid)) CountPods();
  PutCompleteness();
}

void ConfigSourceService::CountPods() {
  std::map<std::string, int> wanted;
  int removed = 0;
  for (const auto& [uid, pod] : store_.pods()) {
    if (pod.IsMirror()) continue;
    pod.IsRemoved() ? ++removed : ++wanted[pod.source];
  }
  deps_.metrics->removed_pods.Set(removed);
  for (const auto& [name, state] : sources_) {
    deps_.metrics->pods.Add({{"source", name}}).Set(wanted[name]);
    deps_.metrics->problems.Add({{"source", name}})
        .Set(static_cast<double>(state.set.problems.size() + state.ignored.size()));
  }
}

/// Includes saved pods that the source does not want any more. If such a pod were missing from a
/// complete table, readers would take it for gone before its REMOVED is put, and pod-worker would
/// never report that incarnation as finished.
bool ConfigSourceService::AllPut(const SourceState& state) const {
  const auto is_put = [this](const std::string& uid) { return store_.IsPut(uid); };
  return std::ranges::all_of(state.uids, is_put) &&
         std::ranges::all_of(store_.pods(), [&](const auto& entry) {
           return entry.second.source != state.source->name() || is_put(entry.first);
         });
}

SourceProgress ConfigSourceService::ProgressOf(const SourceState& state) const {
  const auto& blocked = store_.blocked();
  return {.stage = stage_,
          .source = state.stage,
          .blocked = blocked.empty() ? std::string() : blocked.begin()->name(),
          .set_complete = state.set.complete,
          .set_reason = state.set.reason,
          .all_put = state.stage != SourceStage::kIncomplete || AllPut(state)};
}

bool ConfigSourceService::AllComplete() const {
  return std::ranges::all_of(
      sources_, [](const auto& entry) { return entry.second.stage == SourceStage::kComplete; });
}

void ConfigSourceService::PutCompleteness() {
  std::set<std::string> scopes;
  for (auto& [name, state] : sources_) {
    const bool complete = WhyIncomplete(ProgressOf(state)).empty();
    if (state.stage != SourceStage::kUnread)
      state.stage = complete ? SourceStage::kComplete : SourceStage::kIncomplete;
    deps_.metrics->complete.Add({{"source", name}}).Set(complete ? 1 : 0);
    if (complete) scopes.insert(name);
  }
  others_put_ =
      others_put_ || (stage_ != Stage::kReadingFiles &&
                      std::ranges::all_of(store_.pods(), [this](const auto& entry) {
                        return sources_.contains(entry.second.source) || store_.IsPut(entry.first);
                      }));
  const bool all = others_put_ && store_.blocked().empty() && scopes.size() == sources_.size();
  if (all) scopes.insert(std::string(bus::kAll));
  store_.SetComplete(std::move(scopes));
  DiscardGone();
}

daemon::Health ConfigSourceService::GetHealth() const {
  if (const std::string error = store_.error(); !error.empty()) return {false, error};
  if (stage_ == Stage::kReadingFiles) return {false, kUnreadFiles};
  for (const auto& [name, state] : sources_) {
    if (state.stage == SourceStage::kUnread)
      return {false, fmt::format("source {} is not read yet", name)};
  }
  return {};
}

std::vector<SourceView> ConfigSourceService::GetSources() const {
  std::vector<SourceView> views;
  for (const auto& [name, state] : sources_) {
    SourceView view{.name = name,
                    .place = state.source->place(),
                    .complete = state.stage == SourceStage::kComplete,
                    .reason = WhyIncomplete(ProgressOf(state)),
                    .pods = state.uids.size(),
                    .problems = state.set.problems};
    view.problems.insert(view.problems.end(), state.ignored.begin(), state.ignored.end());
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<std::string> ConfigSourceService::Notes() const {
  std::vector<std::string> notes;
  for (const auto& [key, why] : store_.unreadable())
    notes.push_back(
        fmt::format("the saved record of pod {} cannot be read ({}); \"splitletctl record "
                    "discard {}\" moves it away",
                    key.name(), why, key.name()));
  return notes;
}

void ConfigSourceService::DiscardRecord(
    const std::string& uid, std::function<void(StatusOr<std::vector<std::string>>)> done) {
  CHECK(deps_.env.loop.IsCurrent());
  store_.PutAside(RecordKey::OfUid(uid),
                  [this, done = std::move(done)](StatusOr<std::string> path) {
                    MergeAll();
                    PutCompleteness();
                    if (!path.ok()) return done(path.status());
                    done(std::vector<std::string>{*std::move(path)});
                  });
}

StatusOr<std::unique_ptr<v1::DesiredRecord>> ConfigSourceService::GetPod(
    const std::string& uid, const std::string& source) const {
  if (stage_ == Stage::kReadingFiles) return Unavailable("{}", kUnreadFiles);
  if (store_.IsPut(uid) && !store_.IsUnknown(uid)) return store_.Get(uid);
  const bool one = sources_.contains(source);
  // The pod's file says REMOVED and its worker has finished: no source can want that incarnation
  // again.
  const bool withdrawn = store_.WithdrawnIncarnation(uid).has_value();
  for (const auto& [name, state] : sources_) {
    if (!withdrawn && state.stage != SourceStage::kComplete && (!one || name == source))
      return Unavailable("the pod is not known, and source {} is not complete: {}", name,
                         WhyIncomplete(ProgressOf(state)));
    if (state.uids.contains(uid) && !store_.pods().contains(uid))
      return Unavailable("source {} wants the pod, but {}", name, kWorkersUnknown);
  }
  if (store_.IsUnknown(uid)) return Unavailable("the saved record of the pod cannot be read");
  return store_.Get(uid);
}

}  // namespace splitlet::config_source
