#include "services/config-source/config_source_service.h"

#include <algorithm>
#include <utility>

#include "libs/apiclient/client_metrics.h"
#include "libs/base/span.h"
#include "libs/base/trace.h"
#include "libs/kube/pod_types.h"
#include "libs/peers/worker_standing.h"
#include "services/config-source/sources/api/api_source.h"
#include "services/config-source/sources/file/file_source.h"
#include "services/config-source/sources/http/http_source.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {
namespace {

std::string EventMessage(const SourcePod& pod, const std::string& source, const std::string& why) {
  return fmt::format("Error validating pod {}({}) from {} {}",
                     kube::FullName(pod.name, pod.name_space), pod.uid, source, why);
}

constexpr uint64_t kNumbersSkipped = 1000;  // at most; of incarnations
constexpr std::string_view kWorkersUnknown =
    "table `workers` is incomplete: running incarnations are not known yet";

}  // namespace

ConfigSourceService::ConfigSourceService(ConfigSourceDeps deps, ConfigSourceConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.env.metrics),
      store_({.env = deps_.env,
              .records = std::make_shared<fs::RecordStore>(
                  deps_.files, deps_.env.clock,
                  fs::RecordStore::Options{.directory = config_.records_directory}),
              .table = std::move(deps_.table),
              .metrics = metrics_},
             [this](const std::string& uid) { OnPut(uid); }),
      random_(deps_.seed) {
  deps_.workers.OnChange([this](const auto& change) { OnWorker(change.key); });
  deps_.workers.OnState([this] { OnWorkers(); });
  MakeSources();
}

ConfigSourceService::~ConfigSourceService() = default;

void ConfigSourceService::MakeSources() {
  if (!config_.static_pod_path.empty()) MakeFileSource();
  if (!config_.static_pod_url.empty()) MakeHttpSource();
  if (deps_.api != nullptr) MakeApiSource();
}

std::function<void(Duration)> ConfigSourceService::ReadTimer(std::string_view source) {
  return [this, name = std::string(source)](Duration taken) {
    metrics_.read_seconds.Add({{"source", name}}, kReadBuckets)
        .Observe(std::chrono::duration<double>(taken).count());
  };
}

std::function<void(bool)> ConfigSourceService::WatchedGauge(std::string_view source) {
  return [this, name = std::string(source)](bool watched) {
    metrics_.watched.Add({{"source", name}}).Set(watched ? 1 : 0);
  };
}

void ConfigSourceService::MakeFileSource() {
  const auto decode = [has_objects = config_.has_objects, off = config_.gates_off](
                          std::string_view text, Origin origin) {
    origin.has_objects = has_objects;
    origin.gates_off = off;
    return DecodeManifest(text, origin);
  };
  AddSource(
      std::make_unique<FileSource>(FileSource::Deps{.env = deps_.env,
                                                    .files = deps_.files,
                                                    .watcher = std::move(deps_.watcher),
                                                    .decode = decode,
                                                    .on_read_time = ReadTimer(kube::kFileSource),
                                                    .on_watched = WatchedGauge(kube::kFileSource)},
                                   FileSource::Options{.path = config_.static_pod_path,
                                                       .node_name = config_.node_name,
                                                       .period = config_.file_check_frequency}));
}

void ConfigSourceService::MakeHttpSource() {
  AddSource(
      std::make_unique<HttpSource>(HttpSource::Deps{.env = deps_.env,
                                                    .fetcher = std::move(deps_.fetcher),
                                                    .on_read_time = ReadTimer(kube::kHttpSource)},
                                   HttpSource::Options{.url = config_.static_pod_url,
                                                       .headers = config_.static_pod_url_header,
                                                       .node_name = config_.node_name,
                                                       .period = config_.http_check_frequency,
                                                       .has_objects = config_.has_objects,
                                                       .gates_off = config_.gates_off}));
}

void ConfigSourceService::MakeApiSource() {
  AddSource(std::make_unique<ApiSource>(
      ApiSource::Deps{.env = deps_.env,
                      .transport = std::move(deps_.api),
                      .metrics = std::make_shared<apiclient::ClientMetrics>(deps_.env.metrics),
                      .on_watched = WatchedGauge(kube::kApiSource),
                      .seed = random_.Next(),
                      .wait = deps_.api_wait},
      ApiSource::Options{.node_name = config_.node_name,
                         .place = config_.kubeconfig,
                         .content = config_.api_content,
                         .offline_start = config_.offline_start,
                         .gates_off = config_.gates_off}));
}

void ConfigSourceService::AddSource(std::unique_ptr<Source> source) {
  metrics_.AddSource(source->name(), OperationNames());
  const std::string name = source->name();
  sources_[name].source = std::move(source);
}

void ConfigSourceService::Start() {
  CHECK(deps_.env.loop.IsCurrent());
  store_.Load([this] { OnLoaded(); });
}

void ConfigSourceService::OnLoaded() {
  loaded_ = true;
  std::vector<std::pair<std::string, const DesiredPod*>> wanted;
  for (const auto& [uid, pod] : store_.pods())
    if (!pod.removed) wanted.emplace_back(uid, &pod);
  // After a crash between the new pod of an edited manifest and the removal of its old one, both
  // are saved for one path: the later one is its last good pod.
  std::ranges::sort(wanted, {}, [](const auto& entry) { return entry.second->incarnation; });
  std::map<std::string, std::vector<SourcePodRef>> remembered;
  std::vector<std::string> unconfigured;
  for (const auto& [uid, pod] : wanted) {
    if (!sources_.contains(pod->source)) unconfigured.push_back(uid);
    remembered[pod->source].push_back(
        std::make_shared<const SourcePod>(SourcePod{.uid = uid,
                                                    .name = pod->name,
                                                    .name_space = pod->name_space,
                                                    .origin = pod->origin,
                                                    .bytes = pod->pod,
                                                    .unconfirmed = pod->unconfirmed}));
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
  state.delivered = true;
  // Another source may wait for a UID that this source gave up.
  if (Merge(state)) MergeAll();
  PutCompleteness();
}

void ConfigSourceService::MergeAll() {
  for (auto& [name, state] : sources_)
    if (state.delivered) Merge(state);
}

/// True when a pod was removed.
bool ConfigSourceService::Merge(SourceState& state) {
  bool removed = false;
  const MergeResult result = ComputeMerge(store_.pods(), state.source->name(), state.set);
  AcceptUnchanged(state, result);
  for (const Change& change : result.changes) {
    if (!Apply(state, change)) continue;
    removed = removed || change.operation == Operation::kRemove;
    metrics_.operations
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
  if (change.operation == Operation::kReconcile || pod.mirror)
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
      // A mirror pod has no worker.
      if (!workers_known_ && !change.pod->mirror && !store_.pods().contains(change.uid))
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
  const auto worker = WorkerIncarnationOf(change.uid);
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
                   .mirror = pod.mirror,
                   .incarnation = numbers.incarnation,
                   .generation = numbers.generation,
                   .seen_at = now,
                   .pod = StampPod(*pod.bytes, nullptr, source, now),
                   .baseline = pod.bytes});
}

void ConfigSourceService::Remove(const std::string& uid) {
  DesiredPod pod = store_.pods().at(uid);
  // No worker has to terminate it first.
  if (pod.mirror) return store_.DropMirror(uid, MakeTraceparent(random_));
  pod.removed = true;
  pod.unconfirmed = false;
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
  pod.unconfirmed = false;
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
  if (!loaded_) return;
  if (!workers_known_ && deps_.workers.LiveAndComplete()) OnWorkersComplete();
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
  const bool complete = std::ranges::all_of(
      sources_, [](const auto& entry) { return entry.second.complete && entry.second.delivered; });
  if (!loaded_ || !complete || !deps_.workers.LiveAndComplete()) return;
  for (const auto& key : store_.Broken()) {
    if (deps_.workers.Contains(key)) continue;
    store_.PutAside(key, [this](const StatusOr<std::string>& path) {
      if (path.status().code() != StatusCode::kNotFound)
        deps_.env.log.LogIfError(path.status(),
                                 "discard the unreadable record of a pod that is gone");
    });
  }
}

void ConfigSourceService::OnWorkersComplete() {
  if (workers_known_) return;
  workers_known_ = true;
  MergeAll();
  PutCompleteness();
}

void ConfigSourceService::OnWorker(const std::string& key) {
  if (!loaded_) return;
  if (!deps_.workers.Contains(key)) store_.Forget(key);
  const auto record = deps_.workers.Find(key);
  if (record == nullptr) return DiscardGone();
  WithdrawIfFinished(record->uid());
  CatchUpWith(record->uid());
}

std::optional<WorkerIncarnation> ConfigSourceService::WorkerIncarnationOf(
    const std::string& uid) const {
  const auto record = deps_.workers.Find(bus::KeyOf(uid));
  // Incarnation 0: pod-worker cannot read its own files of the pod.
  if (record == nullptr || record->uid() != uid || record->incarnation() == 0) return std::nullopt;
  const auto standing = peers::ComputeWorkerStanding(*record);
  const bool working =
      standing == peers::WorkerStanding::kSyncing || standing == peers::WorkerStanding::kFound;
  const auto withdrawn = store_.WithdrawnIncarnation(bus::KeyOf(uid));
  const bool removed = withdrawn && record->incarnation() <= *withdrawn;
  const bool resumes = !working && record->shutdown_boot() != 0 &&
                       record->shutdown_boot() != deps_.env.clock.Now().boot;
  // A pod that ended by itself does not run again when its record here is lost. API UIDs are never
  // reused: a finished worker stays finished.
  const bool by_itself =
      !resumes && (record->evicted() || !record->terminal_status().phase().empty() ||
                   record->source() == kube::kApiSource);
  return WorkerIncarnation{.incarnation = record->incarnation(),
                           .generation = record->generation(),
                           .finished = record->state() == v1::FINISHED,
                           .ended = resumes || (!working && (!by_itself || removed)),
                           .resumes = resumes};
}

/// A finished worker never changes back, so any view will do. Until `workers` drops the pod, its
/// file distinguishes a removed incarnation from one that ended by itself and is still wanted.
void ConfigSourceService::WithdrawIfFinished(const std::string& uid) {
  const auto at = store_.pods().find(uid);
  if (at == store_.pods().end() || !at->second.removed) return;
  const auto worker = WorkerIncarnationOf(uid);
  if (!worker) return;
  const int64_t ours = at->second.incarnation;
  if (worker->incarnation < ours || (worker->incarnation == ours && !worker->finished)) return;
  store_.Withdraw(uid, MakeTraceparent(random_));
}

void ConfigSourceService::CatchUpWith(const std::string& uid) {
  const auto at = store_.pods().find(uid);
  const auto worker = WorkerIncarnationOf(uid);
  if (at == store_.pods().end() || !worker) return;
  const auto numbers = CatchUp(at->second, *worker, deps_.env.clock.WallNow());
  if (!numbers) return;
  DesiredPod pod = at->second;
  pod.incarnation = numbers->incarnation;
  pod.generation = numbers->generation;
  Set(uid, std::move(pod));
  if (worker->resumes) {
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
    if (pod.mirror) continue;
    pod.removed ? ++removed : ++wanted[pod.source];
  }
  metrics_.removed_pods.Set(removed);
  for (const auto& [name, state] : sources_) {
    metrics_.pods.Add({{"source", name}}).Set(wanted[name]);
    metrics_.problems.Add({{"source", name}})
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

std::string ConfigSourceService::WhyIncomplete(const SourceState& state) const {
  if (!loaded_) return "saved pods are not read yet";
  if (!store_.blocked().empty())
    return fmt::format("pod {} was saved by a newer version", *store_.blocked().begin());
  if (!state.delivered) return "not read yet";
  if (!state.set.complete) return state.set.reason;
  // New pods do not make a complete source incomplete.
  if (!state.complete && !AllPut(state))
    return workers_known_ ? std::string("pods are being saved") : std::string(kWorkersUnknown);
  return {};
}

void ConfigSourceService::PutCompleteness() {
  std::set<std::string> scopes;
  for (auto& [name, state] : sources_) {
    state.complete = WhyIncomplete(state).empty();
    metrics_.complete.Add({{"source", name}}).Set(state.complete ? 1 : 0);
    if (state.complete) scopes.insert(name);
  }
  others_put_ =
      others_put_ || (loaded_ && std::ranges::all_of(store_.pods(), [this](const auto& entry) {
                        return sources_.contains(entry.second.source) || store_.IsPut(entry.first);
                      }));
  const bool all = others_put_ && store_.blocked().empty() && scopes.size() == sources_.size();
  if (all) scopes.insert(std::string(bus::kAll));
  store_.SetComplete(std::move(scopes));
  DiscardGone();
}

daemon::Health ConfigSourceService::GetHealth() const {
  if (const std::string error = store_.error(); !error.empty()) return {false, error};
  if (!loaded_) return {false, "saved pods are not read yet"};
  for (const auto& [name, state] : sources_) {
    if (!state.delivered) return {false, fmt::format("source {} is not read yet", name)};
  }
  return {};
}

std::vector<SourceView> ConfigSourceService::GetSources() const {
  std::vector<SourceView> views;
  for (const auto& [name, state] : sources_) {
    SourceView view{.name = name,
                    .place = state.source->place(),
                    .complete = state.complete,
                    .reason = WhyIncomplete(state),
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
                    key, why, key));
  return notes;
}

void ConfigSourceService::DiscardRecord(
    const std::string& uid, std::function<void(StatusOr<std::vector<std::string>>)> done) {
  CHECK(deps_.env.loop.IsCurrent());
  store_.PutAside(bus::KeyOf(uid), [this, done = std::move(done)](StatusOr<std::string> path) {
    if (!path.ok()) return done(path.status());
    MergeAll();
    PutCompleteness();
    done(std::vector<std::string>{*std::move(path)});
  });
}

StatusOr<std::unique_ptr<v1::DesiredRecord>> ConfigSourceService::GetPod(
    const std::string& uid, const std::string& source) const {
  if (!loaded_) return Unavailable("saved pods are not read yet");
  if (store_.IsPut(uid) && !store_.IsUnknown(uid)) return store_.Get(uid);
  const bool one = sources_.contains(source);
  // The pod's file says REMOVED and its worker has finished: no source can want that incarnation
  // again.
  const bool withdrawn = store_.WithdrawnIncarnation(bus::KeyOf(uid)).has_value();
  for (const auto& [name, state] : sources_) {
    if (!withdrawn && !state.complete && (!one || name == source))
      return Unavailable("the pod is not known, and source {} is not complete: {}", name,
                         WhyIncomplete(state));
    if (state.uids.contains(uid) && !store_.pods().contains(uid))
      return Unavailable("source {} wants the pod, but {}", name, kWorkersUnknown);
  }
  if (store_.IsUnknown(uid)) return Unavailable("the saved record of the pod cannot be read");
  return store_.Get(uid);
}

}  // namespace splitlet::config_source
