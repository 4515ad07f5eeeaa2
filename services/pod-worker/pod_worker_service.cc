#include "services/pod-worker/pod_worker_service.h"

#include <utility>

#include "libs/bus/bus.h"
#include "services/pod-worker/control/worker_counts.h"
#include "services/pod-worker/node/former_devices.h"
#include "services/pod-worker/records/worker_records.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kWaitForDesired = 3s;
constexpr Duration kCollectPeriod = 60s;
constexpr Duration kMissingPeriod = 10s;

/// Its record is put when the runtime is listed: what comes back must not be taken for ended.
bool ReplacesContainers(const Worker& worker) {
  return worker.state == WorkerState::kSyncing && !worker.restarts.replacing.empty();
}

}  // namespace

PodWorkerService::PodWorkerService(Deps deps, Config config)
    : ground_(std::move(deps), std::move(config)),
      loop_(ground_.deps.env),
      steps_(ground_, loop_),
      control_(ground_, steps_, loop_, Calls()),
      collect_(ground_.deps.env.loop, kCollectPeriod, [this] { Collect(); }),
      missing_(ground_.deps.env.loop, kMissingPeriod, [this] { control_.requests.CheckMissing(); }),
      keep_room_(ground_.deps.env.loop, kRoomPeriod, [this] { steps_.store.KeepRoom(); }) {
  loop_.Connect(PodLoopDeps(ground_, steps_, control_));
}

PodWorkerService::~PodWorkerService() = default;

ControlParts::Calls PodWorkerService::Calls() {
  return {
      .add = [this](std::unique_ptr<Worker> worker) -> Worker& { return Add(std::move(worker)); },
      .on_read = [this](DiskRecords::All& records) { OnRead(records); },
      .on_listed =
          [this](const std::vector<cri::Sandbox>& sandboxes,
                 const std::vector<cri::Container>& containers) {
            OnRuntimeListed(sandboxes, containers);
          },
      .on_discarded = [this](const std::string& key,
                             const DiskRecords::All& left) { OnDiscarded(key, left); }};
}

void PodWorkerService::Start() {
  Deps& deps = ground_.deps;
  CHECK(deps.env.loop.IsCurrent());
  deps.desired.OnChange([this](const bus::View<v1::DesiredRecord>::Change& change) {
    OnDesired(change.key, change.after, change.present_after, change.traceparent);
  });
  deps.desired.OnState([this] {
    if (ground_.deps.desired.was_live()) loop_.OnDesiredReady();
  });
  deps.bus.OnSignal("pleg", "pod-changed", [this](const std::string& uid) { OnPodChanged(uid); });
  deps.env.loop.RunAfter(kWaitForDesired, [this] { loop_.OnDesiredReady(); });
  if (deps.desired.was_live()) loop_.OnDesiredReady();
  steps_.puller.Settle();
  deps.podstatus.OnChange([this](const bus::View<v1::PodStatusRecord>::Change& change) {
    if (change.key == bus::kNodeKey) OnNode();
  });
  OnNode();
  control_.recovery.Start();
  keep_room_.Kick();
}

void PodWorkerService::BeginStop() {
  CHECK(ground_.deps.env.loop.IsCurrent());
  loop_.BeginStop();
  steps_.puller.BeginStop();
  steps_.providers.BeginStop();
  steps_.probes.BeginStop();
  steps_.exec_prober.BeginStop();
  steps_.network_prober.BeginStop();
  steps_.terminator.BeginStop();
  steps_.hooks.BeginStop();
  ground_.plugins.drivers.BeginStop();
  for (const auto& [uid, worker] : ground_.workers) worker->ending->Cancel();
}

daemon::Health PodWorkerService::GetHealth() const {
  const Recovery& recovery = control_.recovery;
  if (!recovery.trouble().empty()) return {false, "read records: " + recovery.trouble()};
  if (!recovery.is_read()) return {false, "the files of this boot are not read yet"};
  if (!loop_.runtime_trouble().empty())
    return {false, "container runtime: " + loop_.runtime_trouble()};
  if (!recovery.is_listed()) return {false, "the runtime has not been listed yet"};
  return {};
}

void PodWorkerService::OnRead(DiskRecords::All& records) {
  control_.holds.OnRead(records.holds);
  steps_.addresses.OnRead(std::move(records.node_ips));
  CountWorkers(ground_.workers, ground_.deps.desired, ground_.metrics);
  for (const auto& [uid, worker] : ground_.workers)
    if (!worker->orphan && !ReplacesContainers(*worker)) steps_.store.PutWorkers(*worker);
  control_.unreadable.OnRead(std::move(records.unknown));
  ground_.deps.desired.ForEach(
      [this](const std::string& key, const auto& record) { OnDesired(key, record, true); });
}

void PodWorkerService::OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                                       const std::vector<cri::Container>& containers) {
  Deps& deps = ground_.deps;
  control_.gate.OnRuntimeListed(sandboxes, containers);
  control_.found.OnRuntimeListed(sandboxes, containers);
  for (const auto& [uid, worker] : ground_.workers)
    worker->started = worker->started || control_.gate.IsLeftover(*worker);
  for (const auto& [uid, worker] : ground_.workers)
    if (ReplacesContainers(*worker)) steps_.store.PutWorkers(*worker);
  AddFormerDevices(ground_.config.former_devices, ground_.node_record, deps.env.log);
  ground_.node_record.Publish();
  deps.table.SetComplete({{std::string(bus::kAll)}, deps.env.clock.Now(), {}});
  deps.env.log.Info("recovery done, `workers` is complete",
                    {KV("pods", ground_.workers.size()), KV("sandboxes", sandboxes.size())});
  ground_.plugins.Start();
  loop_.AdvanceAll();
}

Worker& PodWorkerService::Add(std::unique_ptr<Worker> worker) {
  worker->restarts.backoff = CrashBackoff(ground_.config.crash_loop_max);
  control_.found.OnWorkerAdded(*worker);
  steps_.puller.Forget(worker->uid);
  if (worker->user_ids) ground_.user_ids.Restore(worker->uid, *worker->user_ids);
  return ground_.workers.Add(std::move(worker));
}

std::vector<v1::WorkerRecord> PodWorkerService::GetWorkers() const {
  std::vector<v1::WorkerRecord> records;
  for (const auto& [uid, worker] : ground_.workers) {
    v1::WorkerRecord record;
    FillRecord(*worker, record);
    records.push_back(std::move(record));
  }
  return records;
}

void PodWorkerService::Collect() {
  const Recovery& recovery = control_.recovery;
  CountWorkers(ground_.workers, ground_.deps.desired, ground_.metrics);
  control_.found.Collect();
  if (recovery.is_read() && !loop_.stopping()) control_.unreadable.Collect();
  if (recovery.is_listed() && !loop_.stopping()) control_.keeper.OnTick();
  control_.gone.Collect([this](const std::string& uid) { steps_.puller.Forget(uid); });
}

/// OK: of a pod whose files are read.
Status PodWorkerService::MayServe(const std::string& uid) const {
  if (const Status usable = CheckUid(uid); !usable.ok()) return usable;
  if (!control_.recovery.is_read()) return Unavailable("the files of this boot are not read yet");
  if (control_.unreadable.Contains(bus::KeyOf(uid)))
    return FailedPrecondition("the pod's file cannot be read");
  return OkStatus();
}

/// status has another record of the node.
void PodWorkerService::OnNode() {
  steps_.addresses.OnNode();
  ground_.plugins.drivers.OnNode();
}

void PodWorkerService::OnUpdatePod(const v1::UpdatePodRequest& request, DoneStatus done,
                                   const std::string& traceparent) {
  CHECK(ground_.deps.env.loop.IsCurrent());
  if (const Status may = MayServe(request.uid()); !may.ok()) return done(may);
  control_.requests.OnUpdatePod(request, std::move(done), traceparent);
}

void PodWorkerService::OnKillPod(const v1::KillPodRequest& request, Done<v1::KillPodReply> done,
                                 const std::string& traceparent) {
  CHECK(ground_.deps.env.loop.IsCurrent());
  if (const Status may = MayServe(request.uid()); !may.ok()) return done(may);
  control_.requests.OnKillPod(request, std::move(done), traceparent);
}

void PodWorkerService::OnHoldForRemoval(const v1::HoldRequest& request, Done<v1::HoldReply> done) {
  CHECK(ground_.deps.env.loop.IsCurrent());
  if (!control_.recovery.is_listed())
    return done(Unavailable("the runtime has not been listed yet"));
  control_.holds.OnHoldForRemoval(request, std::move(done));
}

void PodWorkerService::OnReleaseHold(const std::string& hold_id) {
  CHECK(ground_.deps.env.loop.IsCurrent());
  control_.holds.OnReleaseHold(hold_id);
}

void PodWorkerService::OnTakeDownVolumes(const std::string& uid, const Done<Progress>& done) {
  CHECK(ground_.deps.env.loop.IsCurrent());
  if (const Status may = MayServe(uid); !may.ok()) return done(may);
  if (!control_.recovery.is_listed())
    return done(Unavailable("the runtime has not been listed yet"));
  control_.left_volumes.TearDown(uid, done);
}

void PodWorkerService::OnVolumeProgramEnded(const std::string& uid) {
  loop_.Advance(uid);
  control_.left_volumes.OnProgramEnded(uid);
}

void PodWorkerService::OnDesired(const std::string& key,
                                 const std::shared_ptr<const v1::DesiredRecord>& record,
                                 bool present, const std::string& traceparent) {
  if (!control_.recovery.is_read()) return;
  if (record != nullptr) {
    control_.requests.OnDesired(*record, traceparent);
  } else if (!present) {
    const Worker* worker = ground_.workers.FindByKey(key);
    if (worker != nullptr) control_.gone.ForgetIfGone(*worker, traceparent);
  }
}

void PodWorkerService::DiscardRecord(const std::string& uid, Done<std::vector<std::string>> done) {
  CHECK(ground_.deps.env.loop.IsCurrent());
  if (!control_.recovery.is_read())
    return done(Unavailable("the files of this boot are not read yet"));
  control_.unreadable.Discard(bus::KeyOf(uid), std::move(done));
}

void PodWorkerService::OnDiscarded(const std::string& key, const DiskRecords::All& left) {
  control_.recovery.AddWorkers(left);
  if (const Worker* worker = ground_.workers.FindByKey(key)) {
    steps_.store.PutWorkers(*worker);
  } else if (const std::string uid = control_.found.UidOfKey(key); !uid.empty()) {
    control_.found.PutWorkers(uid);
  } else {
    ground_.deps.table.Remove(key);
  }
  OnDesired(key, ground_.deps.desired.Find(key), ground_.deps.desired.Contains(key));
  if (const Worker* known = ground_.workers.FindByKey(key)) loop_.Advance(known->uid);
}

}  // namespace splitlet::pod_worker
