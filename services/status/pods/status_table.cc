#include "services/status/pods/status_table.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/daemon/event_record.h"
#include "services/status/pods/phase.h"
#include "services/status/pods/pod_status.h"
#include "services/status/pods/resize.h"

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

/// What the API shows of one of its pods counts as the last status where there is none of ours, and
/// a terminal phase there is a floor in any case. False: there is no last status.
bool TakeFromApi(const kube::Pod& pod, bool has_previous, kube::PodStatus& previous) {
  const kube::PodStatus& shown = pod.status();
  const bool told = shown.start_time().seconds() > 0 || IsTerminal(shown.phase());
  if (!has_previous) {
    if (told) previous = shown;
    return told;
  }
  if (IsTerminal(shown.phase()) && !IsTerminal(previous.phase())) {
    previous.set_phase(shown.phase());
    previous.set_reason(shown.reason());
    previous.set_message(shown.message());
  }
  return true;
}

/// Without version and `deletable`.
v1::PodStatusRecord StatusRecordOf(const v1::DesiredRecord& desired,
                                   const kube::PodStatus& status) {
  v1::PodStatusRecord record;
  record.set_uid(desired.uid());
  record.set_name(desired.name());
  record.set_namespace_(desired.namespace_());
  record.set_source(desired.source());
  record.set_incarnation(desired.incarnation());
  record.set_generation(desired.generation());
  record.set_status(bus::SerializeSorted(status));
  return record;
}

bool ShowsContainerId(const kube::PodStatus& status) {
  const auto has_id = [](const auto& statuses) {
    return std::any_of(statuses.begin(), statuses.end(),
                       [](const auto& one) { return !one.container_id().empty(); });
  };
  return has_id(status.container_statuses()) || has_id(status.init_container_statuses());
}

const kube::ContainerStatus* FindIn(
    const google::protobuf::RepeatedPtrField<kube::ContainerStatus>& list,
    const std::string& name) {
  const auto it = std::find_if(list.begin(), list.end(),
                               [&](const auto& status) { return status.name() == name; });
  return it == list.end() ? nullptr : &*it;
}

bool HasStatus(const v1::DesiredRecord& desired) {
  return desired.state() == v1::DesiredRecord::WANTED ||
         desired.state() == v1::DesiredRecord::REMOVED;
}

}  // namespace

StatusTable::StatusTable(const Deps& deps, Duration worker_wait)
    : deps_(deps), worker_wait_(worker_wait), alive_(std::make_shared<bool>(true)) {}

StatusTable::~StatusTable() { *alive_ = false; }

void StatusTable::Start() { started_at_ = deps_.clock.Now(); }

void StatusTable::OnReconcile() {
  could_publish_ = MayPublish();
  MarkAll();
}

bool StatusTable::MayPublish() const {
  if (!deps_.desired.was_live()) return false;
  return deps_.workers.was_live() || WaitedLong();
}

bool StatusTable::WaitedLong() const {
  return started_at_ && deps_.clock.Now() - started_at_ >= worker_wait_;
}

bool StatusTable::KnowsWorkers() const { return workers_were_complete_ || WaitedLong(); }

bool StatusTable::KnowsAdmissions() const { return admissions_were_known_ || WaitedLong(); }

bool StatusTable::KnowsRuntime() const { return runtime_was_complete_ || WaitedLong(); }

bool StatusTable::KnowsTooLittle(const std::string& key, const v1::DesiredRecord& desired) const {
  const auto worker = deps_.workers.Find(key);
  const bool removed = desired.state() == v1::DesiredRecord::REMOVED;
  // Its worker is not known yet, or has gone as the last of the pod.
  if (removed && worker == nullptr) return true;
  if (WaitedLong()) return false;
  // It may run, or be over: pod-worker, just started, has not said all that it knows.
  if (worker == nullptr && !workers_were_complete_) return true;
  // A terminal phase was perhaps shown already, before everything was started anew.
  if (worker != nullptr && !worker->terminal_status().phase().empty() &&
      !IsWorkerDone(worker.get()))
    return true;
  // Refused, but nobody vouches just now that it has no grant: Failed was perhaps shown.
  const auto admissions = deps_.admission.Find(key);
  const auto* admission = Matching(admissions, desired.incarnation());
  const bool refused =
      admission != nullptr && admission->decision() == v1::AdmissionRecord::REJECTED;
  if (refused && !deps_.workers.LiveAndComplete()) return true;
  // Neither admitted nor refused, as far as is known, but nobody vouches just now that it is so.
  const bool granted = worker != nullptr && worker->granted();
  if (admission == nullptr && !granted && !deps_.admission.LiveAndComplete()) return true;
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

void StatusTable::OnDesired(const bus::View<v1::DesiredRecord>::Change& change) {
  if (change.present_after) {
    MarkChanged(change.key, change.traceparent);
  } else {
    RemovePod(change.key, change.traceparent);
  }
}

void StatusTable::OnViewState() {
  const bool workers_live = deps_.workers.live();
  const bool may_publish = MayPublish();
  const bool now_complete = !workers_were_complete_ && deps_.workers.LiveAndComplete();
  const bool admissions_known = deps_.admission.LiveAndComplete();
  if (now_complete || workers_live != workers_were_live_ || may_publish != could_publish_ ||
      (admissions_known && !admissions_are_known_))
    MarkAll();
  admissions_are_known_ = admissions_known;
  admissions_were_known_ = admissions_were_known_ || admissions_known;
  workers_were_complete_ = workers_were_complete_ || now_complete;
  workers_were_live_ = workers_live;
  could_publish_ = may_publish;
  // Also when nothing changed: it may be what the completeness waited for.
  FlushSoon();
}

void StatusTable::OnRuntimeState() {
  if (!runtime_was_complete_ && deps_.runtime.LiveAndComplete()) {
    runtime_was_complete_ = true;
    MarkAll();  // also those that waited for it
  }
  for (const auto& key : await_listing_) changed_.insert(key);
  FlushSoon();
}

void StatusTable::MarkChanged(const std::string& key, const std::string& traceparent) {
  if (!traceparent.empty() && deps_.desired.Contains(key)) known_[key].traceparent = traceparent;
  changed_.insert(key);
  FlushSoon();
}

void StatusTable::MarkAll() {
  deps_.desired.ForEach([this](const std::string& key, const auto&) { changed_.insert(key); });
  FlushSoon();
}

void StatusTable::FlushSoon() {
  if (flush_posted_) return;
  flush_posted_ = true;
  deps_.loop.Post([this, alive = alive_] {
    if (*alive) FlushChanged();
  });
}

void StatusTable::FlushChanged() {
  CHECK(deps_.loop.IsCurrent());
  flush_posted_ = false;
  if (!MayPublish()) return;  // all is marked again when the way is free
  const auto keys = std::move(changed_);
  changed_.clear();
  for (const auto& key : keys) Refresh(key);
  SetCompleteOnce();
}

void StatusTable::Flush() {
  deps_.desired.ForEach([this](const std::string& key, const auto&) { changed_.insert(key); });
  FlushChanged();
}

void StatusTable::SetCompleteOnce() {
  const bool all = deps_.desired.was_live() && deps_.admission.was_live() &&
                   deps_.workers.was_live() && KnowsWorkers() && deps_.runtime.was_live() &&
                   KnowsRuntime() && KnowsAdmissions();
  if (!all || !deps_.table.completeness().scopes.empty()) return;
  bus::Completeness complete;
  complete.scopes.insert(std::string(bus::kAll));
  deps_.table.SetComplete(std::move(complete));
}

bool StatusTable::ListingCovers(const std::string& key, const v1::WorkerRecord* worker) const {
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

bool StatusTable::IsRejected(const std::string& key, const v1::AdmissionRecord* admission,
                             const v1::WorkerRecord* worker,
                             const kube::PodStatus* previous) const {
  if (admission == nullptr || admission->decision() != v1::AdmissionRecord::REJECTED) return false;
  if (worker != nullptr && worker->granted()) return false;
  const bool shown = previous != nullptr && previous->phase() == kFailed &&
                     previous->container_statuses_size() == 0;
  const bool unknown = deps_.workers.Contains(key) && deps_.workers.Find(key) == nullptr;
  return shown || (deps_.workers.LiveAndComplete() && !unknown);
}

void StatusTable::Refresh(const std::string& key) {
  const auto desired = deps_.desired.Find(key);
  if (desired == nullptr) return;  // absent or unknown: its last status stands
  if (!HasStatus(*desired)) return;
  kube::Pod pod;
  if (!pod.ParseFromString(desired->pod())) {
    deps_.log.Warn("a desired pod cannot be decoded", {KV("podUID", desired->uid())});
    return;
  }
  const int64_t incarnation = desired->incarnation();
  const auto workers = deps_.workers.Find(key);
  // A worker of a later incarnation: `desired` is behind, and follows.
  if (workers != nullptr && workers->incarnation() > incarnation) return;
  const auto* worker = Matching(workers, incarnation);
  const auto admissions = deps_.admission.Find(key);
  const auto* admission = Matching(admissions, incarnation);
  const auto runtime = deps_.runtime.Find(key);
  const auto before = deps_.table.Get(key);
  kube::PodStatus previous;
  const bool has_previous = before != nullptr && before->incarnation() == incarnation &&
                            previous.ParseFromString(before->status());
  if (!has_previous && KnowsTooLittle(key, *desired)) {
    await_listing_.insert(key);
    return;
  }
  const bool is_api = desired->source() == kube::kApiSource;
  const bool has_last = is_api ? TakeFromApi(pod, has_previous, previous) : has_previous;
  const bool resize_refused =
      is_api && has_last &&
      TakeAllocated(previous, admission == nullptr ? 0 : admission->decided_at_wall_ns(), pod);
  // Flags of the agent before. Once containers were shown, they are in the last status.
  const bool has_flags = is_api || (has_last && ShowsContainerId(previous));
  const auto mirror = has_flags ? std::nullopt : MirrorStatusOf(pod);
  StatusInputs in{.pod = pod,
                  .desired = *desired,
                  .admission = admission,
                  .worker = worker,
                  .runtime = runtime == nullptr ? nullptr : &runtime->pod(),
                  .previous = has_last ? &previous : nullptr,
                  .mirror = mirror ? &*mirror : nullptr,
                  .rejected = IsRejected(key, admission, worker, has_last ? &previous : nullptr),
                  .resize_refused = resize_refused,
                  .sandbox_condition = deps_.sandbox_condition,
                  .workers_live = deps_.workers.live(),
                  .listing_covers = ListingCovers(key, worker),
                  .features = &deps_.features,
                  .now = deps_.clock.WallNow()};
  in.host_ips = deps_.addresses;
  const kube::PodStatus status = ComputePodStatus(in);
  await_listing_.erase(key);
  if (!in.listing_covers && HasUnseen(status, in.runtime)) await_listing_.insert(key);

  v1::PodStatusRecord record = StatusRecordOf(*desired, status);
  record.set_deletable(worker != nullptr && worker->state() == v1::FINISHED);
  record.set_version(before == nullptr ? 0 : before->version());
  if (before != nullptr && bus::SerializeSorted(*before) == bus::SerializeSorted(record)) return;
  CountChange(record, in.previous, status);
  if (resize_refused && IsNewResize(in.previous, status)) ReportResize(*desired);
  if (known_[key].phase != status.phase())
    deps_.log.Info("pod phase changed",
                   {KV("pod", kube::PodKey(desired->namespace_(), desired->name())),
                    KV("podUID", desired->uid()), KV("phase", status.phase()),
                    KV(kTraceIdField, TraceIdOf(known_[key].traceparent))});
  PutPodStatus(key, before.get(), std::move(record));
  SetSeen(key, status);
}

std::optional<kube::PodStatus> StatusTable::MirrorStatusOf(const kube::Pod& pod) const {
  const std::string hash = kube::AnnotationOf(pod, kube::kConfigHash);
  std::optional<kube::PodStatus> status;
  deps_.desired.ForEach([&](const std::string&, const auto& record) {
    if (record == nullptr || record->state() != v1::DesiredRecord::MIRROR ||
        record->name() != pod.metadata().name() ||
        record->namespace_() != pod.metadata().namespace_())
      return;
    kube::Pod mirror;
    if (mirror.ParseFromString(record->pod()) &&
        kube::AnnotationOf(mirror, kube::kConfigMirror) == hash)
      status = std::move(*mirror.mutable_status());
  });
  return status;
}

void StatusTable::PutPodStatus(const std::string& key, const v1::PodStatusRecord* before,
                               v1::PodStatusRecord record) {
  // Wall milliseconds, so that versions of a later start are higher too.
  const auto wall_ms = static_cast<uint64_t>(ToNanos(deps_.clock.WallNow()) / 1'000'000);
  record.set_version(std::max(before == nullptr ? 0 : before->version() + 1, wall_ms));
  FAIL_POINT_VOID("status.put.before");
  const Status put = deps_.table.Put(key, record, known_[key].traceparent);
  FAIL_POINT_VOID("status.put.after");
  if (!put.ok()) {
    deps_.metrics.put_errors.Increment();
    deps_.log.Error("a pod status cannot be told",
                    {KV("podUID", record.uid()), KV("err", put),
                     KV(kTraceIdField, TraceIdOf(known_[key].traceparent))});
    return;
  }
  deps_.metrics.changes.Increment();
  known_[key].put_at = deps_.clock.Now();
  if (deps_.on_published) deps_.on_published(key);
}

void StatusTable::CountChange(const v1::PodStatusRecord& record, const kube::PodStatus* before,
                              const kube::PodStatus& after) {
  const auto count = [&](const auto& list, const auto* old_list, const char* type) {
    for (const auto& status : list) {
      if (!status.state().has_terminated()) continue;
      const auto* old = old_list == nullptr ? nullptr : FindIn(*old_list, status.name());
      if (old != nullptr && old->state().has_terminated()) continue;
      const auto& end = status.state().terminated();
      deps_.metrics.terminated
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
  deps_.metrics.pod_start.Observe(static_cast<double>(std::max<int64_t>(took, 0)) / 1e9);
}

void StatusTable::ReportResize(const v1::DesiredRecord& desired) {
  deps_.metrics.infeasible_resizes.Add({{"reason_detail", std::string(kResizeMetricDetail)}})
      .Increment();
  kube::Pod asked;
  if (!deps_.record_events || !asked.ParseFromString(desired.pod())) return;
  deps_.record_events({daemon::RecordOf({.warning = true,
                                         .reason = "ResizeInfeasible",
                                         .message = ResizeText(asked),
                                         .name_space = desired.namespace_(),
                                         .name = desired.name(),
                                         .uid = desired.uid()})});
}

void StatusTable::SetSeen(const std::string& key, const kube::PodStatus& status) {
  Known& last = known_[key];
  if (!last.phase.empty()) deps_.metrics.pods.Add({{"phase", last.phase}}).Decrement();
  if (!status.phase().empty()) deps_.metrics.pods.Add({{"phase", status.phase()}}).Increment();
  last.phase = status.phase();
  for (const auto& reason : last.waiting)
    deps_.metrics.waiting.Add({{"reason", reason}}).Decrement();
  last.waiting.clear();
  const auto count = [&last](const auto& statuses) {
    for (const auto& container : statuses)
      if (container.state().has_waiting())
        last.waiting.push_back(WaitingReason(container.state().waiting().reason()));
  };
  count(status.init_container_statuses());
  count(status.container_statuses());
  for (const auto& reason : last.waiting)
    deps_.metrics.waiting.Add({{"reason", reason}}).Increment();
  const bool resize = HasPendingResize(status);
  if (resize == std::exchange(last.pending_resize, resize)) return;
  auto& resizes = deps_.metrics.pending_resizes.Add({{"reason", std::string(kResizeMetricReason)}});
  resize ? resizes.Increment() : resizes.Decrement();
}

void StatusTable::RemovePod(const std::string& key, const std::string& traceparent) {
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
  if (deps_.on_published) deps_.on_published(key);
}

StatusOr<std::unique_ptr<v1::PodStatusRecord>> StatusTable::Get(const std::string& uid) {
  const std::string key = bus::KeyOf(uid);
  if (!MayPublish()) return Unavailable("desired or workers were not live yet");
  Refresh(key);
  auto record = deps_.table.Get(key);
  if (record != nullptr) return record;
  if (!deps_.desired.LiveAndComplete() || deps_.desired.Contains(key))
    return Unavailable("not known yet: {}", uid);
  return NotFound("no pod {} on this node", uid);
}

}  // namespace splitlet::status
