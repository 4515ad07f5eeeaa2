#include "services/status/status_service.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "services/status/phase.h"
#include "services/status/pod_status.h"

namespace splitlet::status {
namespace {

/// The record when it is of this incarnation.
template <class R>
const R* Matching(const std::shared_ptr<const R>& record, int64_t incarnation) {
  return record != nullptr && record->incarnation() == incarnation ? record.get() : nullptr;
}

/// A container that the last status shows running and the runtime does not show at all.
bool HasUnseen(const kube::PodStatus& status, const v1::ObservedPod* observed) {
  const auto unseen = [&](const kube::ContainerStatus& one) {
    if (!one.state().has_running()) return false;
    if (observed == nullptr) return true;
    const auto& records = observed->containers();
    return std::none_of(records.begin(), records.end(),
                        [&](const auto& record) { return record.name() == one.name(); });
  };
  return std::any_of(status.container_statuses().begin(), status.container_statuses().end(),
                     unseen) ||
         std::any_of(status.init_container_statuses().begin(),
                     status.init_container_statuses().end(), unseen);
}

const kube::ContainerStatus* FindIn(
    const google::protobuf::RepeatedPtrField<kube::ContainerStatus>& list,
    const std::string& name) {
  const auto it = std::find_if(list.begin(), list.end(),
                               [&](const auto& status) { return status.name() == name; });
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

StatusService::StatusService(StatusDeps deps, StatusConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.metrics, config_.node_name),
      events_(deps_.clock),
      ledger_(config_.answer_limits, config_.reconcile_period * 2 + config_.ask_timeout),
      alive_(std::make_shared<bool>(true)) {
  metrics_.node_name.Set(1);
  deps_.desired.OnChange([this](const auto& change) { OnDesired(change); });
  deps_.admission.OnChange(
      [this](const auto& change) { MarkChanged(change.key, change.traceparent); });
  deps_.workers.OnChange(
      [this](const auto& change) { MarkChanged(change.key, change.traceparent); });
  deps_.runtime.OnChange(
      [this](const auto& change) { MarkChanged(change.key, change.traceparent); });
  deps_.pressure.OnChange([this](const auto& change) {
    if (change.key == bus::kNodeKey) RefreshNode();
  });
  deps_.desired.OnState([this] { OnViewState(); });
  deps_.admission.OnState([this] { OnViewState(); });
  deps_.workers.OnState([this] { OnViewState(); });
  deps_.runtime.OnState([this] { OnRuntimeState(); });
}

StatusService::~StatusService() { *alive_ = false; }

void StatusService::Start() {
  CHECK(deps_.loop.IsCurrent());
  started_at_ = deps_.clock.Now();
  reconcile_ = std::make_unique<exec::Periodic>(deps_.loop, config_.reconcile_period,
                                                [this] { OnReconcileTimer(); });
  ReadMachineSoon();
  ReadAddressesSoon();
  AskPeers();
}

daemon::Health StatusService::GetHealth() const {
  if (!machine_problem_.empty()) return {false, machine_problem_};
  if (!MayPublish()) return {false, "desired or workers were not live yet"};
  return {};
}

bool StatusService::MayPublish() const {
  if (!deps_.desired.was_live()) return false;
  return deps_.workers.was_live() || WaitedLong();
}

bool StatusService::WaitedLong() const {
  return started_at_ && deps_.clock.Now() - started_at_ >= config_.worker_wait;
}

bool StatusService::KnowsWorkers() const { return workers_were_complete_ || WaitedLong(); }
bool StatusService::KnowsRuntime() const { return runtime_was_complete_ || WaitedLong(); }

bool StatusService::KnowsTooLittle(const std::string& key, bool removed) const {
  const auto worker = deps_.workers.Find(key);
  // Its worker is not told yet, or has gone as the last of the pod.
  if (removed && worker == nullptr) return true;
  if (WaitedLong()) return false;
  // It may run, or be over: pod-worker, just started, has not said all that it knows.
  if (worker == nullptr && !workers_were_complete_) return true;
  // It was perhaps told to be over already, before everything was started anew.
  if (worker != nullptr && !worker->verdict().phase().empty() && !IsWorkerDone(worker.get()))
    return true;
  const auto runtime = deps_.runtime.Find(key);
  // What runs would be called not ready, since no flag rises while nobody vouches for it.
  if (runtime != nullptr && runtime->pod().sandboxes_size() + runtime->pod().containers_size() > 0)
    return !deps_.workers.live();
  // The worker did something for the pod, and a running pod would be called waiting.
  const bool inspected = runtime == nullptr || runtime->inspect_error().empty();
  const bool listed =
      inspected && runtime_was_complete_ && !deps_.runtime.completeness().not_vouched.contains(key);
  return !listed && worker != nullptr && worker->granted() && worker->state() == v1::SYNCING &&
         worker->has_last_action_at();
}

void StatusService::OnDesired(const bus::View<v1::DesiredRecord>::Change& change) {
  if (change.present_after) {
    MarkChanged(change.key, change.traceparent);
  } else {
    RemovePod(change.key, change.traceparent);
  }
}

void StatusService::OnViewState() {
  const bool workers_live = deps_.workers.live();
  const bool may_publish = MayPublish();
  const bool now_complete = !workers_were_complete_ && deps_.workers.LiveAndComplete();
  if (now_complete || workers_live != workers_were_live_ || may_publish != could_publish_)
    MarkAll();
  workers_were_complete_ = workers_were_complete_ || now_complete;
  workers_were_live_ = workers_live;
  could_publish_ = may_publish;
  // Also when nothing changed: it may be what the completeness waited for.
  FlushSoon();
}

void StatusService::OnRuntimeState() {
  if (!runtime_was_complete_ && deps_.runtime.LiveAndComplete()) {
    runtime_was_complete_ = true;
    MarkAll();  // also those that waited for it
  }
  for (const auto& key : await_listing_) changed_.insert(key);
  FlushSoon();
}

void StatusService::OnReconcileTimer() {
  could_publish_ = MayPublish();
  MarkAll();
  if (!machine_) ReadMachineSoon();
  ReadAddressesSoon();  // the network may come later, or change
  AskPeers();
  RefreshNode();
}

void StatusService::MarkChanged(const std::string& key, const std::string& traceparent) {
  if (!traceparent.empty() && deps_.desired.Contains(key)) known_[key].traceparent = traceparent;
  changed_.insert(key);
  FlushSoon();
}

void StatusService::MarkAll() {
  deps_.desired.ForEach([this](const std::string& key, const auto&) { changed_.insert(key); });
  FlushSoon();
}

void StatusService::FlushSoon() {
  if (flush_posted_) return;
  flush_posted_ = true;
  deps_.loop.Post([this, alive = alive_] {
    if (*alive) FlushChanged();
  });
}

void StatusService::FlushChanged() {
  CHECK(deps_.loop.IsCurrent());
  flush_posted_ = false;
  if (!MayPublish()) return;  // all is marked again when the way is free
  const auto keys = std::move(changed_);
  changed_.clear();
  for (const auto& key : keys) Refresh(key);
  TellComplete();
}

void StatusService::Flush() {
  deps_.desired.ForEach([this](const std::string& key, const auto&) { changed_.insert(key); });
  FlushChanged();
  RefreshNode();
}

void StatusService::TellComplete() {
  const bool all = deps_.desired.was_live() && deps_.admission.was_live() &&
                   deps_.workers.was_live() && KnowsWorkers() && deps_.runtime.was_live() &&
                   KnowsRuntime();
  if (!all || !deps_.table.completeness().scopes.empty()) return;
  bus::Completeness complete;
  complete.scopes.insert(std::string(bus::kAll));
  deps_.table.SetComplete(std::move(complete));
}

bool StatusService::ListingCovers(const std::string& key, const v1::WorkerRecord* worker) const {
  if (!deps_.runtime.LiveAndComplete()) return false;
  // A record that cannot be understood is no absence.
  if (deps_.runtime.Contains(key) && deps_.runtime.Find(key) == nullptr) return false;
  const auto& listed = deps_.runtime.completeness();
  if (listed.not_vouched.contains(key)) return false;
  if (!listed.observed_at.SameBoot(deps_.clock.Now())) return false;
  const auto known = known_.find(key);
  if (known != known_.end() && known->second.put_at && listed.observed_at <= known->second.put_at)
    return false;
  if (worker == nullptr || worker->last_action_at().boot() != listed.observed_at.boot) return true;
  return listed.observed_at.monotonic.count() > worker->last_action_at().monotonic_ns();
}

bool StatusService::IsRejected(const std::string& key, const v1::AdmissionRecord* admission,
                               const v1::WorkerRecord* worker,
                               const kube::PodStatus* previous) const {
  if (admission == nullptr || admission->verdict() != v1::AdmissionRecord::REJECTED) return false;
  if (worker != nullptr && worker->granted()) return false;
  const bool told = previous != nullptr && previous->phase() == kFailed &&
                    previous->container_statuses_size() == 0;
  const bool unknown = deps_.workers.Contains(key) && deps_.workers.Find(key) == nullptr;
  return told || (deps_.workers.LiveAndComplete() && !unknown);
}

void StatusService::Refresh(const std::string& key) {
  const auto desired = deps_.desired.Find(key);
  if (desired == nullptr) return;  // absent or unknown: its last status stands
  const bool ours = desired->state() == v1::DesiredRecord::WANTED ||
                    desired->state() == v1::DesiredRecord::REMOVED;
  if (!ours) return;
  kube::Pod pod;
  if (!pod.ParseFromString(desired->pod())) {
    deps_.log.Warn("a desired pod cannot be decoded", {KV("podUID", desired->uid())});
    return;
  }
  const int64_t incarnation = desired->incarnation();
  const auto workers = deps_.workers.Find(key);
  // A worker of a later life: `desired` is behind, and follows.
  if (workers != nullptr && workers->incarnation() > incarnation) return;
  const auto* worker = Matching(workers, incarnation);
  const auto admissions = deps_.admission.Find(key);
  const auto* admission = Matching(admissions, incarnation);
  const auto runtime = deps_.runtime.Find(key);
  const auto before = deps_.table.Get(key);
  kube::PodStatus previous;
  const bool has_previous = before != nullptr && before->incarnation() == incarnation &&
                            previous.ParseFromString(before->status());
  if (!has_previous && KnowsTooLittle(key, desired->state() == v1::DesiredRecord::REMOVED)) {
    await_listing_.insert(key);
    return;
  }
  StatusInputs in{
      .pod = pod,
      .desired = *desired,
      .admission = admission,
      .worker = worker,
      .runtime = runtime == nullptr ? nullptr : &runtime->pod(),
      .previous = has_previous ? &previous : nullptr,
      .rejected = IsRejected(key, admission, worker, has_previous ? &previous : nullptr),
      .workers_live = deps_.workers.live(),
      .listing_covers = ListingCovers(key, worker),
      .now = deps_.clock.WallNow()};
  in.host_ips = addresses_;
  const kube::PodStatus status = ComputePodStatus(in);
  await_listing_.erase(key);
  if (!in.listing_covers && HasUnseen(status, in.runtime)) await_listing_.insert(key);

  v1::PodStatusRecord record;
  record.set_uid(desired->uid());
  record.set_name(desired->name());
  record.set_namespace_(desired->namespace_());
  record.set_source(desired->source());
  record.set_incarnation(incarnation);
  record.set_generation(desired->generation());
  record.set_status(bus::SerializeSorted(status));
  record.set_deletable(worker != nullptr && worker->state() == v1::FINISHED);
  record.set_version(before == nullptr ? 0 : before->version());
  if (before != nullptr && bus::SerializeSorted(*before) == bus::SerializeSorted(record)) return;
  CountChange(record, in.previous, status);
  if (known_[key].phase != status.phase())
    deps_.log.Info("pod phase changed",
                   {KV("pod", kube::PodKey(desired->namespace_(), desired->name())),
                    KV("podUID", desired->uid()), KV("phase", status.phase()),
                    KV(kTraceIdField, TraceIdOf(known_[key].traceparent))});
  PutPodStatus(key, before.get(), std::move(record));
  SetSeen(key, status);
}

void StatusService::PutPodStatus(const std::string& key, const v1::PodStatusRecord* before,
                                 v1::PodStatusRecord record) {
  // Wall milliseconds, so that versions of a later start are higher too.
  const auto wall_ms = static_cast<uint64_t>(ToNanos(deps_.clock.WallNow()) / 1'000'000);
  record.set_version(std::max(before == nullptr ? 0 : before->version() + 1, wall_ms));
  FAIL_POINT_VOID("status.put.before");
  const Status put = deps_.table.Put(key, record, known_[key].traceparent);
  FAIL_POINT_VOID("status.put.after");
  if (!put.ok()) {
    metrics_.put_errors.Increment();
    deps_.log.Error("a pod status cannot be told",
                    {KV("podUID", record.uid()), KV("err", put),
                     KV(kTraceIdField, TraceIdOf(known_[key].traceparent))});
    return;
  }
  metrics_.changes.Increment();
  known_[key].put_at = deps_.clock.Now();
}

void StatusService::CountChange(const v1::PodStatusRecord& record, const kube::PodStatus* before,
                                const kube::PodStatus& after) {
  const auto count = [&](const auto& list, const auto* old_list, const char* type) {
    for (const auto& status : list) {
      if (!status.state().has_terminated()) continue;
      const auto* old = old_list == nullptr ? nullptr : FindIn(*old_list, status.name());
      if (old != nullptr && old->state().has_terminated()) continue;
      const auto& end = status.state().terminated();
      metrics_.terminated
          .Add({{"container_type", type},
                {"exit_code", std::to_string(end.exit_code())},
                {"reason", end.reason()}})
          .Increment();
    }
  };
  count(after.container_statuses(), before == nullptr ? nullptr : &before->container_statuses(),
        "container");
  count(after.init_container_statuses(),
        before == nullptr ? nullptr : &before->init_container_statuses(), "init_container");
  const bool runs_now =
      after.phase() == kRunning && before != nullptr && before->phase() == kPending;
  if (!runs_now) return;
  const auto desired = deps_.desired.Find(bus::KeyOf(record.uid()));
  if (desired == nullptr || desired->seen_at_wall_ns() == 0) return;
  const int64_t took = ToNanos(deps_.clock.WallNow()) - desired->seen_at_wall_ns();
  metrics_.pod_start.Observe(static_cast<double>(std::max<int64_t>(took, 0)) / 1e9);
}

void StatusService::SetSeen(const std::string& key, const kube::PodStatus& status) {
  Known& last = known_[key];
  if (!last.phase.empty()) metrics_.pods.Add({{"phase", last.phase}}).Decrement();
  if (!status.phase().empty()) metrics_.pods.Add({{"phase", status.phase()}}).Increment();
  last.phase = status.phase();
  for (const auto& reason : last.waiting) metrics_.waiting.Add({{"reason", reason}}).Decrement();
  last.waiting.clear();
  const auto count = [&last](const auto& statuses) {
    for (const auto& container : statuses)
      if (container.state().has_waiting())
        last.waiting.push_back(WaitingReason(container.state().waiting().reason()));
  };
  count(status.init_container_statuses());
  count(status.container_statuses());
  for (const auto& reason : last.waiting) metrics_.waiting.Add({{"reason", reason}}).Increment();
}

void StatusService::RemovePod(const std::string& key, const std::string& traceparent) {
  changed_.erase(key);
  await_listing_.erase(key);
  std::string trace = traceparent;
  if (const auto known = known_.find(key); known != known_.end()) {
    if (trace.empty()) trace = known->second.traceparent;  // its end was found by a list
    SetSeen(key, {});
    known_.erase(key);
  }
  FAIL_POINT_VOID("status.remove.before");
  deps_.table.Remove(key, trace);
}

StatusOr<std::unique_ptr<v1::PodStatusRecord>> StatusService::GetPodStatus(const std::string& uid) {
  const std::string key = bus::KeyOf(uid);
  if (key != bus::kNodeKey) {
    if (!MayPublish()) return Unavailable("desired or workers were not live yet");
    Refresh(key);
  }
  auto record = deps_.table.Get(key);
  if (record != nullptr) return record;
  if (key == bus::kNodeKey || !deps_.desired.LiveAndComplete() || deps_.desired.Contains(key))
    return Unavailable("not known yet: {}", uid);
  return NotFound("no pod {} on this node", uid);
}

void StatusService::OnEvents(std::vector<v1::EventRecord> events) {
  const uint64_t displaced = events_.displaced();
  for (auto& event : events) {
    const char* result = "new";
    switch (events_.Record(std::move(event))) {
      case EventStore::Result::kNew: break;
      case EventStore::Result::kCounted: result = "counted"; break;
      case EventStore::Result::kSpam: result = "spam"; break;
    }
    metrics_.events_handled.Add({{"result", result}}).Increment();
  }
  const auto gone = static_cast<double>(events_.displaced() - displaced);
  if (gone > 0) metrics_.events_handled.Add({{"result", "displaced"}}).Increment(gone);
  metrics_.events.Set(static_cast<double>(events_.size()));
}

std::vector<v1::EventRecord> StatusService::ListEvents(const std::string& uid) const {
  return events_.List(uid);
}

}  // namespace splitlet::status
