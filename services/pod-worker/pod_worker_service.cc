#include "services/pod-worker/pod_worker_service.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/bus/bus.h"
#include "services/pod-worker/images/pulls_text.h"
#include "services/pod-worker/node/former_devices.h"
#include "services/pod-worker/control/worker_counts.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kWaitForDesired = 3s;
constexpr Duration kCollectPeriod = 60s;
constexpr Duration kMissingPeriod = 10s;
constexpr Duration kLeftoverRetry = 1s;
constexpr Duration kIdsRetry = 10s;
constexpr const char* kPastDeadline =
    "Pod was active on the node longer than the specified deadline";

/// Its record is put when the runtime is listed: what comes back must not be taken for ended.
bool ReplacesContainers(const Worker& worker) {
  return worker.state == WorkerState::kSyncing && !worker.restarts.replacing.empty();
}

}  // namespace

PodWorkerService::PodWorkerService(Deps deps, Config config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      records_(deps_.files, deps_.clock, config_.run_dir, config_.state_dir),
      pull_records_(deps_.files, deps_.clock, config_.node.pod_roots.root_dir),
      node_credentials_(deps_.files, config_.node.pod_roots.root_dir, config_.home),
      metrics_(deps_.metrics),
      observer_({deps_.reader, deps_.clock, deps_.read_tail}),
      volumes_({deps_.files, deps_.mounts, deps_.ownership, deps_.clock, config_.node, deps_.log,
                metrics_, deps_.run_program, deps_.programs}),
      cgroups_({deps_.kernel, deps_.files, config_.node, deps_.clock, metrics_, deps_.log,
                config_.run_dir + "/pod-worker/cgroups", deps_.slices},
               config_.cgroups),
      sync_({deps_.reader, observer_, deps_.runner, deps_.remover, deps_.images, deps_.files,
             volumes_, cgroups_, deps_.read_within, records_, pull_records_, config_.image_access,
             deps_.clock, config_.node, deps_.events, metrics_, deps_.log,
             config_.request_timeout}),
      stop_({observer_, deps_.runner, deps_.long_calls, deps_.clock, deps_.events,
             config_.request_timeout}),
      random_(deps_.seed),
      objects_(deps_.objects, deps_.api_objects),
      addresses_({deps_.loop, deps_.strands, deps_.podstatus, records_, deps_.log,
                  [this] { OnAddresses(); }}),
      store_(
          {.clock = deps_.clock,
           .loop = deps_.loop,
           .strands = deps_.strands,
           .table = deps_.table,
           .records = records_,
           .workers = workers_,
           .log = deps_.log,
           .is_held =
               [this](const std::string& uid) { return static_cast<bool>(holds_.HeldUntil(uid)); },
           .on_saved = [this](const std::string& uid) { Advance(uid); }}),
      providers_(
          {deps_.clock, deps_.runtime_strands, deps_.run_program, metrics_, deps_.log, deps_.loop,
           deps_.api_objects == nullptr ? nullptr : &deps_.api_objects->accounts()},
          config_.credential_providers),
      puller_({.clock = deps_.clock,
               .loop = deps_.loop,
               .strands = deps_.runtime_strands,
               .images = deps_.images,
               .long_calls = deps_.long_calls,
               .events = deps_.events,
               .metrics = metrics_,
               .random = random_,
               .node = config_.node,
               .records = pull_records_,
               .node_credentials = node_credentials_,
               .providers = providers_,
               .objects = [this](const Worker& worker) { return objects_.View(worker); },
               .log = deps_.log,
               .request_timeout = config_.request_timeout,
               .waiting = [this](const PullRequest& pull) { return WaitingFor(pull); },
               .on_pulled = [this](Worker& worker,
                                   const PullResult& result) { OnPulled(worker, result); }},
              {.per_second = static_cast<double>(config_.registry_qps),
               .burst = static_cast<double>(config_.registry_burst),
               .at_once = config_.parallel_pulls}),
      holds_({.clock = deps_.clock,
              .loop = deps_.loop,
              .strands = deps_.strands,
              .reader = deps_.reader,
              .records = records_,
              .stopped_sandboxes = stopped_sandboxes_,
              .log = deps_.log,
              .request_timeout = config_.request_timeout,
              .need = [this](const std::string& uid) { return NeedOf(uid); },
              .on_released = [this](const std::string& uid) { OnPodChanged(uid); }}),
      left_volumes_({.loop = deps_.loop,
                     .strands = deps_.runtime_strands,
                     .runtime = stop_,
                     .volumes = volumes_,
                     .is_held = [this](const auto& uid) -> bool { return !!holds_.HeldUntil(uid); },
                     .need = [this](const auto& uid) { return NeedOf(uid); }}),
      unreadable_(
          {.clock = deps_.clock,
           .loop = deps_.loop,
           .strands = deps_.strands,
           .desired = deps_.desired,
           .table = deps_.table,
           .reader = deps_.reader,
           .owner = deps_.owner,
           .records = records_,
           .log = deps_.log,
           .request_timeout = config_.request_timeout,
           .crash_loop_max = config_.crash_loop_max,
           .on_discarded = [this](const std::string& key,
                                  const DiskRecords::All& left) { OnDiscarded(key, left); }}),
      gate_({.loop = deps_.loop,
             .strands = deps_.runtime_strands,
             .runtime = stop_,
             .workers = workers_,
             .on_inspected = [this](const std::string& uid,
                                    bool gone) { OnNameInspected(uid, gone); }}),
      owner_({deps_.clock, deps_.loop, deps_.strands, deps_.owner}),
      found_(
          {.loop = deps_.loop,
           .strands = deps_.strands,
           .runtime_strands = deps_.runtime_strands,
           .desired = deps_.desired,
           .table = deps_.table,
           .owner = owner_,
           .records = records_,
           .runtime = stop_,
           .workers = workers_,
           .log = deps_.log,
           .is_unreadable = [this](const std::string& key) { return unreadable_.Contains(key); }}),
      gone_({.clock = deps_.clock,
             .loop = deps_.loop,
             .runtime_strands = deps_.runtime_strands,
             .desired = deps_.desired,
             .table = deps_.table,
             .owner = owner_,
             .runtime = stop_,
             .volumes = volumes_,
             .workers = workers_,
             .store = store_,
             .found = found_}),
      probe_results_({.loop = deps_.loop,
                      .strands = deps_.strands,
                      .records = records_,
                      .log = deps_.log,
                      .on_published = [this](const std::string& uid,
                                             bool decides) { OnProbed(uid, decides); }}),
      exec_prober_({.clock = deps_.clock,
                    .loop = deps_.loop,
                    .calls = deps_.long_calls,
                    .request_timeout = config_.request_timeout}),
      network_prober_({.clock = deps_.clock, .loop = deps_.loop, .caller = deps_.http}),
      probes_({.clock = deps_.clock,
               .loop = deps_.loop,
               .commands = exec_prober_,
               .network = network_prober_,
               .results = probe_results_,
               .events = deps_.events,
               .metrics = metrics_,
               .log = deps_.log,
               .random = random_,
               .node_ips = addresses_.Get()}),
      hooks_({.clock = deps_.clock,
              .loop = deps_.loop,
              .strands = deps_.runtime_strands,
              .long_calls = deps_.long_calls,
              .http = deps_.http,
              .metrics = metrics_}),
      looks_({.clock = deps_.clock,
              .loop = deps_.loop,
              .strands = deps_.runtime_strands,
              .observer = observer_,
              .random = random_,
              .request_timeout = config_.request_timeout,
              .period = config_.sync_frequency,
              .look = [this](const std::string& uid,
                             auto listing) { Advance(uid, std::move(listing)); }}),
      termination_(
          {.clock = deps_.clock,
           .loop = deps_.loop,
           .strands = deps_.runtime_strands,
           .runtime = stop_,
           .volumes = volumes_,
           .cgroups = cgroups_,
           .node = config_.node,
           .events = deps_.events,
           .metrics = metrics_,
           .random = random_,
           .log = deps_.log,
           .workers = workers_,
           .store = store_,
           .hooks = hooks_,
           .records = records_,
           .stopped_sandboxes = stopped_sandboxes_,
           .on_ended = [this](const std::string& uid,
                              const std::set<std::string>& ids) { probes_.OnEnded(uid, ids); },
           .on_step_ended = [this](Worker& worker, bool again) { OnStepEnded(worker, again); },
           .look_again = [this](const std::string& uid, Duration wait) { due_.Add(uid, wait); }}),
      syncs_(
          {.clock = deps_.clock,
           .loop = deps_.loop,
           .strands = deps_.runtime_strands,
           .sync = sync_,
           .objects = [this](const Worker& worker) { return objects_.View(worker); },
           .addresses = addresses_,
           .records = records_,
           .metrics = metrics_,
           .random = random_,
           .log = deps_.log,
           .workers = workers_,
           .store = store_,
           .puller = puller_,
           .termination = termination_,
           .hooks = hooks_,
           .events = deps_.events,
           .looks = looks_,
           .on_step_ended = [this](Worker& worker, bool again) { OnStepEnded(worker, again); },
           .look_again = [this](const std::string& uid, Duration wait) { due_.Add(uid, wait); },
           .on_seen = [this](Worker& worker, const v1::ObservedPod& seen) { OnSeen(worker, seen); },
           .on_runtime_answer =
               [this](const std::string& trouble) { runtime_trouble_ = trouble; }}),
      user_ids_(config_.user_ids),
      judge_({deps_.clock, deps_.loop, deps_.strands, deps_.desired, deps_.owner, metrics_,
              deps_.log}),
      requests_(
          {.clock = deps_.clock,
           .loop = deps_.loop,
           .strands = deps_.runtime_strands,
           .runtime = stop_,
           .desired = deps_.desired,
           .table = deps_.table,
           .events = deps_.events,
           .metrics = metrics_,
           .log = deps_.log,
           .workers = workers_,
           .store = store_,
           .found = found_,
           .gate = gate_,
           .termination = termination_,
           .judge = judge_,
           .owner = owner_,
           .is_unreadable = [this](const std::string& key) { return unreadable_.Contains(key); },
           .add = [this](std::unique_ptr<Worker> worker) -> Worker& {
             return Add(std::move(worker));
           },
           .advance = [this](const std::string& uid) { Advance(uid); },
           .look_again = [this](const std::string& uid, Duration wait) { due_.Add(uid, wait); }}),
      recovery_({.clock = deps_.clock,
                 .loop = deps_.loop,
                 .strands = deps_.strands,
                 .reader = deps_.reader,
                 .records = records_,
                 .log = deps_.log,
                 .request_timeout = config_.request_timeout,
                 .crash_loop_max = config_.crash_loop_max,
                 .workers = workers_,
                 .store = store_,
                 .found = found_,
                 .termination = termination_,
                 .probes = probe_results_,
                 .add = [this](std::unique_ptr<Worker> worker) -> Worker& {
                   return Add(std::move(worker));
                 },
                 .on_read = [this](DiskRecords::All& records) { OnRead(records); },
                 .on_listed =
                     [this](const std::vector<cri::Sandbox>& sandboxes,
                            const std::vector<cri::Container>& containers) {
                       OnRuntimeListed(sandboxes, containers);
                     },
                 .on_runtime_answer =
                     [this](const std::string& trouble) { runtime_trouble_ = trouble; }}),
      keeper_({.clock = deps_.clock,
               .loop = deps_.loop,
               .strands = deps_.strands,
               .runtime_strands = deps_.runtime_strands,
               .reader = deps_.reader,
               .cgroups = cgroups_,
               .workers = workers_,
               .events = deps_.events,
               .log = deps_.log,
               .node_name = config_.node.name,
               .metrics = deps_.metrics,
               .memory_qos = config_.node.memory_qos,
               .request_timeout = config_.request_timeout,
               .is_forgotten =
                   [this](const std::string& uid) {
                     return Find(uid) == nullptr && !unreadable_.Contains(bus::KeyOf(uid));
                   }}),
      due_(deps_.loop, deps_.clock, [this](const std::string& uid) { Advance(uid); }),
      collect_(deps_.loop, kCollectPeriod, [this] { Collect(); }),
      missing_(deps_.loop, kMissingPeriod, [this] { requests_.CheckMissing(); }),
      keep_room_(deps_.loop, kRoomPeriod, [this] { store_.KeepRoom(); }) {}

PodWorkerService::~PodWorkerService() = default;

void PodWorkerService::Start() {
  CHECK(deps_.loop.IsCurrent());
  deps_.desired.OnChange([this](const bus::View<v1::DesiredRecord>::Change& change) {
    OnDesired(change.key, change.after, change.present_after, change.traceparent);
  });
  deps_.desired.OnState([this] {
    if (deps_.desired.was_live()) OnDesiredReady();
  });
  deps_.bus.OnSignal("pleg", "pod-changed", [this](const std::string& uid) { OnPodChanged(uid); });
  deps_.loop.RunAfter(kWaitForDesired, [this] { OnDesiredReady(); });
  if (deps_.desired.was_live()) OnDesiredReady();
  puller_.Settle();
  addresses_.Start();
  recovery_.Start();
  keep_room_.Kick();
}

void PodWorkerService::BeginStop() {
  CHECK(deps_.loop.IsCurrent());
  stopping_ = true;
  puller_.BeginStop();
  providers_.BeginStop();
  probes_.BeginStop();
  exec_prober_.BeginStop();
  network_prober_.BeginStop();
  termination_.BeginStop();
  hooks_.BeginStop();
  for (const auto& [uid, worker] : workers_) worker->ending->Cancel();
}

void PodWorkerService::OnObjectsChanged() {
  for (const auto& [uid, worker] : workers_)
    if (worker->state == WorkerState::kSyncing &&
        (worker->traits.shows_objects || !worker->sync_error.empty()))
      due_.Add(uid, Duration{0});
}

/// What could not start may wait for an address; probes on the host's network go to the new one.
void PodWorkerService::OnAddresses() {
  for (const auto& [uid, worker] : workers_)
    if (worker->state == WorkerState::kSyncing &&
        (worker->traits.host_network || !worker->sync_error.empty()))
      due_.Add(uid, Duration{0});
}

/// One that waits for an answer is due in any case.
void PodWorkerService::OnObjectsChanged(const std::string& uid) {
  const Worker* worker = Find(uid);
  if (worker == nullptr || worker->state != WorkerState::kSyncing) return;
  if (worker->traits.shows_objects || !worker->sync_error.empty() || due_.Contains(uid))
    due_.Add(uid, Duration{0});
}

daemon::Health PodWorkerService::GetHealth() const {
  if (!recovery_.trouble().empty()) return {false, "read facts: " + recovery_.trouble()};
  if (!recovery_.is_read()) return {false, "the files of this boot are not read yet"};
  if (!runtime_trouble_.empty()) return {false, "container runtime: " + runtime_trouble_};
  if (!recovery_.is_listed()) return {false, "the runtime has not been listed yet"};
  return {};
}

void PodWorkerService::OnRead(DiskRecords::All& records) {
  holds_.OnRead(records.holds);
  addresses_.OnRead(std::move(records.node_ips));
  CountWorkers(workers_, deps_.desired, metrics_);
  for (const auto& [uid, worker] : workers_)
    if (!worker->orphan && !ReplacesContainers(*worker)) store_.PutWorkers(*worker);
  unreadable_.OnRead(std::move(records.unknown));
  deps_.desired.ForEach(
      [this](const std::string& key, const auto& record) { OnDesired(key, record, true); });
}

void PodWorkerService::OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                                       const std::vector<cri::Container>& containers) {
  gate_.OnRuntimeListed(sandboxes, containers);
  found_.OnRuntimeListed(sandboxes, containers);
  for (const auto& [uid, worker] : workers_)
    worker->started = worker->started || gate_.IsLeftover(*worker);
  for (const auto& [uid, worker] : workers_)
    if (ReplacesContainers(*worker)) store_.PutWorkers(*worker);
  PutFormerDevices(config_.former_devices, deps_.table, deps_.log);  // before it is complete
  deps_.table.SetComplete({{std::string(bus::kAll)}, deps_.clock.Now(), {}});
  deps_.log.Info("ready", {KV("pods", workers_.size()), KV("sandboxes", sandboxes.size())});
  AdvanceAll();
}

void PodWorkerService::OnDesiredReady() {
  const bool first = !desired_ready_;
  desired_ready_ = true;
  for (const auto& uid : workers_.Uids())
    if (const Worker* worker = Find(uid)) gone_.ForgetIfGone(*worker);
  if (first) AdvanceAll();
}

/// Pods that may run are all looked at together.
void PodWorkerService::AdvanceAll() {
  for (const auto& uid : workers_.Uids()) {
    const Worker* worker = Find(uid);
    if (worker == nullptr || worker->state != WorkerState::kSyncing) {
      Advance(uid);
    } else if (recovery_.is_listed() && desired_ready_) {
      looks_.AddNow(uid);
    }
  }
}

Worker& PodWorkerService::Add(std::unique_ptr<Worker> worker) {
  worker->restarts.backoff = CrashBackoff(config_.crash_loop_max);
  found_.OnWorkerAdded(*worker);
  puller_.Forget(worker->uid);
  if (worker->user_ids) user_ids_.Restore(worker->uid, *worker->user_ids);
  return workers_.Add(std::move(worker));
}

std::vector<v1::WorkerRecord> PodWorkerService::GetWorkers() const {
  std::vector<v1::WorkerRecord> records;
  for (const auto& [uid, worker] : workers_) {
    v1::WorkerRecord record;
    FillRecord(*worker, record);
    records.push_back(std::move(record));
  }
  return records;
}

void PodWorkerService::Collect() {
  CountWorkers(workers_, deps_.desired, metrics_);
  found_.Collect();
  if (recovery_.is_read() && !stopping_) unreadable_.Collect();
  if (recovery_.is_listed() && !stopping_) keeper_.OnTick();
  gone_.Collect([this](const std::string& uid) { puller_.Forget(uid); });
}

/// OK: of a pod whose files are read.
Status PodWorkerService::MayServe(const std::string& uid) const {
  if (const Status usable = CheckUid(uid); !usable.ok()) return usable;
  if (!recovery_.is_read()) return Unavailable("the files of this boot are not read yet");
  if (unreadable_.Contains(bus::KeyOf(uid)))
    return FailedPrecondition("the pod's file cannot be read");
  return OkStatus();
}

void PodWorkerService::OnUpdatePod(const v1::UpdatePodRequest& request, DoneStatus done,
                                   const std::string& traceparent) {
  CHECK(deps_.loop.IsCurrent());
  if (const Status may = MayServe(request.uid()); !may.ok()) return done(may);
  requests_.OnUpdatePod(request, std::move(done), traceparent);
}

void PodWorkerService::OnKillPod(const v1::KillPodRequest& request, Done<v1::KillPodReply> done,
                                 const std::string& traceparent) {
  CHECK(deps_.loop.IsCurrent());
  if (const Status may = MayServe(request.uid()); !may.ok()) return done(may);
  requests_.OnKillPod(request, std::move(done), traceparent);
}

void PodWorkerService::OnDesired(const std::string& key,
                                 const std::shared_ptr<const v1::DesiredRecord>& record,
                                 bool present, const std::string& traceparent) {
  if (!recovery_.is_read()) return;
  if (record != nullptr) {
    requests_.OnDesired(*record, traceparent);
  } else if (!present) {
    const Worker* worker = workers_.FindByKey(key);
    if (worker != nullptr) gone_.ForgetIfGone(*worker, traceparent);
  }
}

PodNeed PodWorkerService::NeedOf(const std::string& uid) const {
  const Worker* worker = Find(uid);
  if (worker != nullptr) {
    if (worker->state == WorkerState::kFinished)
      return worker->removed || worker->evicted || worker->orphan ? PodNeed::kNothing
                                                                  : PodNeed::kRemains;
    return worker->activity == Activity::kIdle ? PodNeed::kNewest : PodNeed::kEverything;
  }
  const std::string key = bus::KeyOf(uid);
  if (unreadable_.Contains(key)) return PodNeed::kEverything;
  // Without a live view a pod may be wanted that nobody has reported yet.
  return deps_.desired.Contains(key) || !deps_.desired.live() ? PodNeed::kNewest
                                                              : PodNeed::kNothing;
}

void PodWorkerService::OnHoldForRemoval(const v1::HoldRequest& request, Done<v1::HoldReply> done) {
  CHECK(deps_.loop.IsCurrent());
  if (!recovery_.is_listed()) return done(Unavailable("the runtime has not been listed yet"));
  holds_.OnHoldForRemoval(request, std::move(done));
}

void PodWorkerService::DiscardRecord(const std::string& uid, Done<std::vector<std::string>> done) {
  CHECK(deps_.loop.IsCurrent());
  if (!recovery_.is_read()) return done(Unavailable("the files of this boot are not read yet"));
  unreadable_.Discard(bus::KeyOf(uid), std::move(done));
}

void PodWorkerService::OnDiscarded(const std::string& key, const DiskRecords::All& left) {
  recovery_.AddWorkers(left);
  if (const Worker* worker = workers_.FindByKey(key)) {
    store_.PutWorkers(*worker);
  } else if (const std::string uid = found_.UidOfKey(key); !uid.empty()) {
    found_.PutWorkers(uid);
  } else {
    deps_.table.Remove(key);
  }
  OnDesired(key, deps_.desired.Find(key), deps_.desired.Contains(key));
  if (const Worker* known = workers_.FindByKey(key)) Advance(known->uid);
}

/// The one place where it is decided what happens next to a pod; at most one thing happens at a
/// time.
void PodWorkerService::Advance(const std::string& uid,
                               std::shared_ptr<const cri::PodListing> listing) {
  Worker* worker = Find(uid);
  if (worker == nullptr || !recovery_.is_listed() || stopping_) return;
  worker->On(ActivityEvent::kWoken);
  if (worker->activity != Activity::kIdle) return;
  switch (worker->state) {
    case WorkerState::kSyncing: break;
    case WorkerState::kTerminating: probes_.OnEnding(uid); return termination_.Inspect(*worker);
    case WorkerState::kTerminated: ForgetProbes(*worker); return termination_.CleanUp(*worker);
    case WorkerState::kFinished: ForgetProbes(*worker); return AfterFinish(*worker);
  }
  if (!worker->grant || !desired_ready_ || PastDeadline(*worker)) return;
  if (const Clock::Time until = holds_.HeldUntil(uid))
    return due_.Add(uid, until - deps_.clock.Now());
  if (!MayStart(*worker) || !HasUserIds(*worker)) return;
  if (const Duration wait = objects_.Prepare(*worker); wait > Duration{0})
    return due_.Add(uid, wait);
  if (!worker->synced_once) keeper_.OnPodsChanged();
  syncs_.Begin(*worker, std::move(listing));
}

/// They are on disk before anything runs with them: the end of the save goes on with the pod.
bool PodWorkerService::HasUserIds(Worker& worker) {
  if (!worker.traits.user_namespace || worker.user_ids) return true;
  StatusOr<UserIds> given = Unavailable("the ids of a pod whose file cannot be read are not known");
  if (unreadable_.empty()) given = user_ids_.Give(worker.uid);
  if (given.ok()) {
    worker.user_ids = *given;
    store_.Save(worker, {});
    return false;
  }
  const std::string why = fmt::format("user namespace: {}", Message(given.status()));
  if (worker.sync_error != why)
    PodEvents(deps_.events, RefOf(worker))
        .Warning("FailedCreatePodSandBox", "Failed to create pod sandbox: " + why);
  worker.sync_error = why;
  store_.PutWorkers(worker);
  due_.Add(worker.uid, kIdsRetry);
  return false;
}

/// nullptr when the incarnation ends or is another one.
Worker* PodWorkerService::WaitingFor(const PullRequest& pull) const {
  Worker* worker = Find(pull.uid);
  const bool same = worker != nullptr && worker->incarnation == pull.incarnation;
  return same && worker->state == WorkerState::kSyncing ? worker : nullptr;
}

void PodWorkerService::OnPulled(Worker& worker, const PullResult& result) {
  worker.waits_for =
      PullsText(puller_.MemoryOf(worker.uid), worker.waits_for, deps_.clock.WallNow());
  for (const auto& [container, note] : result.notes) worker.notes[container] = note;
  if (result.sync_at) due_.Add(worker.uid, *result.sync_at - deps_.clock.Now());
  result.look_now ? Advance(worker.uid) : store_.PutWorkers(worker);
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

/// The next incarnation, or whoever waited for this name; a pod that nobody recorded leaves no
/// memory.
void PodWorkerService::AfterFinish(Worker& worker) {
  const std::string uid = worker.uid;
  puller_.Forget(uid);
  objects_.Forget(uid);
  user_ids_.Release(uid);  // the file that says finished has none
  worker.user_ids.reset();
  worker.restarts = {CrashBackoff(config_.crash_loop_max), {}, {}};
  gate_.OnFinished(worker);
  keeper_.OnPodsChanged();
  const std::vector<std::string> waiting = gate_.WaitingFor(worker);
  if (worker.next) {
    requests_.BeginNext(worker);
  } else if (worker.orphan && worker.incarnation != 0) {
    worker.orphan = false;  // an incarnation before these containers is remembered still
    store_.Save(worker, {});
  } else if (worker.orphan) {
    workers_.Erase(uid);
    store_.Forget(uid);
    // A source that came to know of the pod meanwhile, and wants it no more, waits for an answer.
    requests_.ApplyDesired(uid);
  } else {
    gone_.ForgetIfGone(worker);
    if (const auto record = deps_.desired.Find(bus::KeyOf(uid));
        record && record->incarnation() > worker.incarnation)
      requests_.ApplyDesired(uid);
  }
  for (const auto& other : waiting) Advance(other);
}

void PodWorkerService::OnSeen(Worker& worker, const v1::ObservedPod& seen) {
  kube::Pod pod;
  if (!worker.traits.has_probes || !pod.ParseFromString(worker.grant->pod)) return;
  probes_.OnSeen({pod, cri::PresentIncarnation(seen, worker.incarnation)});
  worker.probes = probe_results_.Of(worker.uid);
}

void PodWorkerService::OnProbed(const std::string& uid, bool decides) {
  Worker* worker = Find(uid);
  if (worker == nullptr) return;
  worker->probes = probe_results_.Of(uid);
  store_.PutWorkers(*worker);
  probes_.Wake(uid);
  if (decides && worker->state == WorkerState::kSyncing) Advance(uid);
}

void PodWorkerService::OnStepEnded(Worker& worker, bool again) {
  if (again) worker.On(ActivityEvent::kWoken);
  const bool woken = worker.activity == Activity::kStepThenAgain;
  worker.On(ActivityEvent::kStepEnded);
  if (woken) Advance(worker.uid);
}

}  // namespace splitlet::pod_worker
