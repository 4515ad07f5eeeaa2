#include "services/status/pods/status_table.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/daemon/event_record.h"
#include "libs/kube/pod_bytes.h"
#include "services/status/pods/containers.h"
#include "services/status/pods/phase.h"
#include "services/status/pods/pod_status.h"
#include "services/status/pods/resize.h"

namespace splitlet::status {
namespace {

/// The record if it is of this incarnation, else null.
template <class R>
const R* Matching(const std::shared_ptr<const R>& record, int64_t incarnation) {
  return record != nullptr && record->incarnation() == incarnation ? record.get() : nullptr;
}

/// A container runs in `status`, and the runtime does not show it at all.
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

/// For a pod of the API server: what the API shows is the last status if we have none, and a
/// terminal phase in the API is never left.
void MergeApiStatus(const kube::Pod& pod, std::optional<kube::PodStatus>& last) {
  const kube::PodStatus& shown = pod.status();
  if (!last) {
    if (shown.start_time().seconds() > 0 || IsTerminal(shown.phase())) last = shown;
    return;
  }
  if (IsTerminal(shown.phase()) && !IsTerminal(last->phase())) {
    last->set_phase(shown.phase());
    last->set_reason(shown.reason());
    last->set_message(shown.message());
  }
}

/// Leaves out `version` and `deletable`.
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

template <class R>
TableState StateOf(const bus::View<R>& view) {
  if (!view.live()) return TableState::kStale;
  return view.IsComplete() ? TableState::kComplete : TableState::kLive;
}

bool HasStatus(const v1::DesiredRecord& desired) {
  return desired.state() == v1::DesiredRecord::WANTED ||
         desired.state() == v1::DesiredRecord::REMOVED;
}

}  // namespace

StatusTable::StatusTable(const Deps& deps, Duration worker_wait)
    : deps_(deps), worker_wait_(worker_wait), asker_(deps_.env.loop, deps_.env.strands) {}

void StatusTable::Start() { started_at_ = deps_.env.clock.Now(); }

void StatusTable::OnReconcile() {
  seen_.may_publish = MayPublish();
  MarkAll();
}

bool StatusTable::MayPublish() const {
  if (!deps_.desired.was_live()) return false;
  return deps_.workers.was_live() || WaitedLong();
}

bool StatusTable::WaitedLong() const {
  return started_at_ && deps_.env.clock.Now() - started_at_ >= worker_wait_;
}

bool StatusTable::KnowsWorkers() const { return seen_.workers.was_complete || WaitedLong(); }

bool StatusTable::KnowsAdmissions() const { return seen_.admissions.was_complete || WaitedLong(); }

bool StatusTable::KnowsRuntime() const { return seen_.runtime.was_complete || WaitedLong(); }

void StatusTable::OnDesired(const bus::View<v1::DesiredRecord>::Change& change) {
  mirrors_.Set(change.key, change.after.get());
  if (change.present_after) {
    MarkChanged(change.key, change.traceparent);
  } else {
    RemovePod(change.key, change.traceparent);
  }
}

void StatusTable::OnViewState() {
  const SeenTables before = seen_;
  seen_.workers = Seen(before.workers, StateOf(deps_.workers));
  seen_.admissions = Seen(before.admissions, StateOf(deps_.admission));
  seen_.may_publish = MayPublish();
  if (RefreshesAll(before, seen_)) MarkAll();
  // Flush without a change too: `podstatus` may be complete now.
  FlushSoon();
}

void StatusTable::OnRuntimeState() {
  const SeenTables before = seen_;
  seen_.runtime = Seen(before.runtime, StateOf(deps_.runtime));
  if (RefreshesAll(before, seen_)) MarkAll();
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
  deps_.env.loop.Post(asker_.Guard([this] { FlushChanged(); }));
}

void StatusTable::FlushChanged() {
  CHECK(deps_.env.loop.IsCurrent());
  flush_posted_ = false;
  if (!MayPublish()) return;  // OnViewState marks all pods when this changes
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
  FAIL_POINT_VOID("status.complete.before");
  deps_.table.SetComplete(std::move(complete));
  FAIL_POINT_VOID("status.complete.after");
}

bool StatusTable::ListingCovers(const std::string& key, const v1::WorkerRecord* worker) const {
  const auto& listed = deps_.runtime.completeness();
  const auto known = known_.find(key);
  return CoversPod({.complete = deps_.runtime.LiveAndComplete(),
                    .vouched = !listed.not_vouched.contains(key),
                    .readable = !deps_.runtime.Contains(key) || deps_.runtime.Find(key) != nullptr,
                    .began = listed.observed_at,
                    .now = deps_.env.clock.Now(),
                    .put_at = known == known_.end() ? Clock::Time{} : known->second.put_at,
                    .worker = worker});
}

/// Records of another incarnation are left out, except `any_worker`.
struct StatusTable::Records {
  bus::View<v1::DesiredRecord>::Record desired;
  bus::View<v1::AdmissionRecord>::Record admissions;
  bus::View<v1::WorkerRecord>::Record any_worker;
  bus::View<v1::RuntimeRecord>::Record runtime;
  std::unique_ptr<v1::PodStatusRecord> before;  // null: none was put
  const v1::AdmissionRecord* admission = nullptr;
  const v1::WorkerRecord* worker = nullptr;
  kube::Pod pod;
  std::optional<kube::PodStatus> last;  // of `before`; Compute adds what the API shows
};

struct StatusTable::Computed {
  kube::PodStatus status;
  bool has_unseen = false;  // the runtime may show more of the pod after its next listing
  bool resize_refused = false;
};

std::optional<StatusTable::Records> StatusTable::ReadRecords(const std::string& key) const {
  Records records{.desired = deps_.desired.Find(key)};
  const auto& desired = records.desired;
  if (desired == nullptr || !HasStatus(*desired)) return std::nullopt;
  auto pod = kube::ParsePod(desired->pod());
  if (!pod.ok()) {
    deps_.env.log.Warn("cannot decode a desired pod, keeping its last status",
                       {KV("podUID", desired->uid())});
    return std::nullopt;
  }
  records.pod = *std::move(pod);
  const int64_t incarnation = desired->incarnation();
  records.any_worker = deps_.workers.Find(key);
  // A worker of a later incarnation: `desired` is behind, and follows.
  if (records.any_worker != nullptr && records.any_worker->incarnation() > incarnation)
    return std::nullopt;
  records.worker = Matching(records.any_worker, incarnation);
  records.admissions = deps_.admission.Find(key);
  records.admission = Matching(records.admissions, incarnation);
  records.runtime = deps_.runtime.Find(key);
  records.before = deps_.table.Get(key);
  if (records.before == nullptr || records.before->incarnation() != incarnation) return records;
  kube::PodStatus last;
  if (last.ParseFromString(records.before->status())) records.last = std::move(last);
  return records;
}

bool StatusTable::WaitsForFirst(const std::string& key, const Records& records) const {
  const FirstStatusInputs in{
      .removed = records.desired->state() == v1::DesiredRecord::REMOVED,
      .worker = records.any_worker.get(),
      .admission = records.admission,
      .runtime = records.runtime.get(),
      .workers_table = {StateOf(deps_.workers), seen_.workers.was_complete},
      .admission_table = {StateOf(deps_.admission), seen_.admissions.was_complete},
      .runtime_table = {StateOf(deps_.runtime), seen_.runtime.was_complete},
      .waited_long = WaitedLong(),
      .vouched = !deps_.runtime.completeness().not_vouched.contains(key)};
  return FindFirstStatusWait(in) != FirstStatusWait::kNothing;
}

StatusTable::Computed StatusTable::Compute(const std::string& key, Records& records) const {
  const bool is_api = records.desired->source() == kube::kApiSource;
  if (is_api) MergeApiStatus(records.pod, records.last);
  const kube::PodStatus* last = records.last ? &*records.last : nullptr;
  const int64_t admitted_at =
      records.admission == nullptr ? 0 : records.admission->decided_at_wall_ns();
  const bool resize_refused =
      is_api && last != nullptr && TakeAllocated(*last, admitted_at, records.pod);
  // A mirror pod has the flags that an agent before this one showed. They are needed only until
  // our own status shows a container.
  const bool has_flags = is_api || (last != nullptr && ShowsContainerId(*last));
  const auto mirror = has_flags ? std::nullopt : MirrorStatusOf(records.pod);
  const bool worker_unreadable = deps_.workers.Contains(key) && records.any_worker == nullptr;
  const StatusInputs in{.pod = records.pod,
                        .desired = *records.desired,
                        .admission = records.admission,
                        .worker = records.worker,
                        .runtime = records.runtime == nullptr ? nullptr : &records.runtime->pod(),
                        .previous = last,
                        .mirror = mirror ? &*mirror : nullptr,
                        .rejected = IsRejected({.admission = records.admission,
                                                .worker = records.worker,
                                                .previous = last,
                                                .workers_complete = deps_.workers.LiveAndComplete(),
                                                .worker_unreadable = worker_unreadable}),
                        .resize_refused = resize_refused,
                        .sandbox_condition = deps_.sandbox_condition,
                        .workers_live = deps_.workers.live(),
                        .listing_covers = ListingCovers(key, records.worker),
                        .features = &deps_.features,
                        .host_ips = deps_.addresses,
                        .now = deps_.env.clock.WallNow()};
  Computed computed{.status = ComputePodStatus(in), .resize_refused = resize_refused};
  computed.has_unseen = !in.listing_covers && HasUnseen(computed.status, in.runtime);
  return computed;
}

void StatusTable::Refresh(const std::string& key) {
  auto records = ReadRecords(key);
  if (!records) return;
  if (!records->last && WaitsForFirst(key, *records)) {
    await_listing_.insert(key);
    return;
  }
  const Computed computed = Compute(key, *records);
  await_listing_.erase(key);
  if (computed.has_unseen) await_listing_.insert(key);
  PutIfChanged(key, *records, computed);
}

void StatusTable::PutIfChanged(const std::string& key, const Records& records,
                               const Computed& computed) {
  const auto& desired = *records.desired;
  const auto& status = computed.status;
  const auto* before = records.before.get();
  const kube::PodStatus* last = records.last ? &*records.last : nullptr;
  v1::PodStatusRecord record = StatusRecordOf(desired, status);
  record.set_deletable(records.worker != nullptr && records.worker->state() == v1::FINISHED);
  record.set_version(before == nullptr ? 0 : before->version());
  if (before != nullptr && bus::SerializeSorted(*before) == bus::SerializeSorted(record)) return;
  CountChange(record, last, status);
  if (computed.resize_refused && IsNewResize(last, status)) ReportResize(desired);
  if (known_[key].phase != status.phase())
    deps_.env.log.Info(
        "pod phase changed",
        {KV("pod", kube::PodKey(desired.namespace_(), desired.name())), KV("podUID", desired.uid()),
         KV("phase", status.phase()), KV(kTraceIdField, TraceIdOf(known_[key].traceparent))});
  PutPodStatus(key, before, std::move(record));
  CountPod(key, status);
}

std::optional<kube::PodStatus> StatusTable::MirrorStatusOf(const kube::Pod& pod) const {
  const std::string hash = kube::AnnotationOf(pod, kube::kConfigHash);
  std::optional<kube::PodStatus> status;
  for (const auto& key : mirrors_.KeysOf(kube::FullName(pod))) {
    const auto record = deps_.desired.Find(key);
    auto mirror = record == nullptr ? NotFound("no record") : kube::ParsePod(record->pod());
    if (mirror.ok() && kube::AnnotationOf(*mirror, kube::kConfigMirror) == hash)
      status = std::move(*mirror->mutable_status());
  }
  return status;
}

void StatusTable::PutPodStatus(const std::string& key, const v1::PodStatusRecord* before,
                               v1::PodStatusRecord record) {
  record.set_version(
      NextVersion(before == nullptr ? 0 : before->version(), deps_.env.clock.WallNow()));
  FAIL_POINT_VOID("status.put.before");
  const Status put = deps_.table.Put(key, record, known_[key].traceparent);
  FAIL_POINT_VOID("status.put.after");
  if (!put.ok()) {
    deps_.metrics.put_errors.Increment();
    deps_.env.log.Error("cannot publish a pod status, will retry with the next pass",
                        {KV("podUID", record.uid()), KV("err", put),
                         KV(kTraceIdField, TraceIdOf(known_[key].traceparent))});
    return;
  }
  deps_.metrics.changes.Increment();
  known_[key].put_at = deps_.env.clock.Now();
  if (deps_.on_published) deps_.on_published(key);
}

void StatusTable::CountChange(const v1::PodStatusRecord& record, const kube::PodStatus* before,
                              const kube::PodStatus& after) {
  const auto count = [&](const auto& list, const auto* old_list, const char* type) {
    for (const auto& status : list) {
      if (!status.state().has_terminated()) continue;
      const auto* old = old_list == nullptr ? nullptr : FindByName(*old_list, status.name());
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
  const int64_t took = ToNanos(deps_.env.clock.WallNow()) - desired->seen_at_wall_ns();
  deps_.metrics.pod_start.Observe(static_cast<double>(std::max<int64_t>(took, 0)) / 1e9);
}

void StatusTable::ReportResize(const v1::DesiredRecord& desired) {
  deps_.metrics.infeasible_resizes.Add({{"reason_detail", std::string(kResizeMetricDetail)}})
      .Increment();
  if (!deps_.record_events) return;
  const auto asked = kube::ParsePod(desired.pod());
  if (!asked.ok()) return;
  deps_.record_events({daemon::RecordOf({.warning = true,
                                         .reason = "ResizeInfeasible",
                                         .message = ResizeText(*asked),
                                         .name_space = desired.namespace_(),
                                         .name = desired.name(),
                                         .uid = desired.uid()})});
}

void StatusTable::CountPod(const std::string& key, const kube::PodStatus& status) {
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
    if (trace.empty())
      trace = known->second.traceparent;  // a list showed the removal, without trace
    CountPod(key, {});
    known_.erase(key);
  }
  FAIL_POINT_VOID("status.remove.before");
  deps_.table.Remove(key, trace);
  FAIL_POINT_VOID("status.remove.after");
  if (deps_.on_published) deps_.on_published(key);
}

StatusOr<std::unique_ptr<v1::PodStatusRecord>> StatusTable::RefreshAndGet(const std::string& uid) {
  const std::string key = bus::KeyOf(uid);
  if (!MayPublish()) return Unavailable("tables desired and workers were not live yet");
  Refresh(key);
  auto record = deps_.table.Get(key);
  if (record != nullptr) return record;
  if (!deps_.desired.LiveAndComplete() || deps_.desired.Contains(key))
    return Unavailable("no status of pod {} is known yet", uid);
  return NotFound("no pod {} on this node", uid);
}

}  // namespace splitlet::status
