#include "services/pleg/pleg_service.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/bus/boot_time.h"
#include "services/pleg/runtime_status.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pleg {
namespace {

constexpr Duration kSlow =
    std::chrono::seconds{2};  // longer than this nobody waits for an inspection
constexpr Duration kReportPeriod = std::chrono::milliseconds{100};
// Several starts come at once in a burst; one listing shows them all.
constexpr Duration kGather = std::chrono::milliseconds{20};
// Where more pods than this wait for what an event named, common listings look for it: each look at
// one pod makes the runtime go through all of its pods.
constexpr size_t kFew = 4;
// A common listing begins so long after it is wanted, or so many times as long as the last one
// took.
constexpr Duration kGatherMany = std::chrono::milliseconds{100};
constexpr int kListingShare = 4;
constexpr Duration kGatherAtMost = std::chrono::seconds{1};
// So many listings within this time look for ids at once; more are common ones.
constexpr size_t kQuickListings = 6;
constexpr Duration kQuickPeriod = std::chrono::seconds{1};
// How many of look_again are skipped when the change cannot show soon.
constexpr size_t kShortLooks = 5;
constexpr Duration kStuckAfter = std::chrono::seconds{5};
constexpr Duration kReasonSettles = std::chrono::seconds{1};
// After an inspection that failed; twice as long after each further one, but no longer than until
// the next listing.
constexpr Duration kInspectAgain = std::chrono::seconds{1};

double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

Status BeforeListing() {
  FAIL_POINT("pleg.relist.before");
  return OkStatus();
}

Status BeforeInspection() {
  FAIL_POINT("pleg.inspect.before");
  return OkStatus();
}

StatusOr<std::shared_ptr<Listing>> List(cri::Reader& reader, Clock::Time began,
                                        const Deadline& deadline) {
  RETURN_IF_ERROR(BeforeListing(), "relist");
  ASSIGN_OR_RETURN(auto sandboxes, reader.ListPodSandbox("", deadline), "ListPodSandbox");
  ASSIGN_OR_RETURN(auto containers, reader.ListContainers({}, deadline), "ListContainers");
  return std::make_shared<Listing>(MakeListing(began, std::move(sandboxes), std::move(containers)));
}

}  // namespace

PlegService::PlegService(PlegDeps deps, PlegConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.metrics),
      observer_({deps_.reader, deps_.clock, deps_.read_tail}),
      random_(deps_.seed),
      retry_wait_(deps_.clock, {.initial = kInspectAgain, .max = config_.streaming_period}),
      feed_({.clock = deps_.clock,
             .loop = deps_.loop,
             .sources = std::move(deps_.sources),
             .probe_period = config_.probe_period,
             .metrics = metrics_,
             .log = deps_.log,
             .on_event = [this](const cri::ContainerEvent& event) { OnContainerEvent(event); },
             .on_gap = [this] { RelistSoon(); }}) {}

PlegService::~PlegService() {
  *alive_ = false;
  deps_.loop.CancelTimer(relist_timer_);
  deps_.loop.CancelTimer(status_timer_);
  deps_.loop.CancelTimer(slow_timer_);
  deps_.loop.CancelTimer(report_timer_);
  for (auto& [uid, pod] : pods_) {
    deps_.loop.CancelTimer(pod.look_timer);
    deps_.loop.CancelTimer(pod.later_timer);
  }
}

void PlegService::Start() {
  started_ = deps_.clock.Now();
  BeginStatus();
  BeginRelist();
  feed_.Start();
}

// Listings.

void PlegService::ArmRelist(Duration delay) {
  deps_.loop.CancelTimer(relist_timer_);
  relist_due_ = deps_.clock.Now() + delay;
  relist_timer_ = deps_.loop.RunAfter(delay, [this] { BeginRelist(); });
}

void PlegService::RelistSoon() { RelistWithin(Duration{0}); }

void PlegService::RelistWithin(Duration delay) {
  if (listing_) {
    list_again_ = std::min(list_again_.value_or(delay), delay);
  } else if (deps_.clock.Now() + delay < relist_due_) {
    ArmRelist(delay);
  }
}

Duration PlegService::CommonDelay() const {
  return std::clamp(kListingShare * listing_took_, kGatherMany, kGatherAtMost);
}

/// Of an id that an event named for the first time.
Duration PlegService::DelayOfUnknown() const {
  // What a slow runtime lists at the common pace is no less.
  const Duration period = std::max<Duration>(
      kQuickPeriod, static_cast<int64_t>(kQuickListings) * (kListingShare + 1) * listing_took_);
  const bool many =
      recent_.size() == kQuickListings && deps_.clock.Now() - recent_.front() < period;
  return many ? CommonDelay() : kGather;
}

void PlegService::BeginRelist() {
  if (listing_) return;
  listing_ = true;
  answer_listing_ = std::exchange(answer_next_listing_, {});
  const Clock::Time began = deps_.clock.Now();  // before the question
  recent_.push_back(began);
  if (recent_.size() > kQuickListings) recent_.pop_front();
  if (last_listing_) metrics_.relist_interval.Observe(Seconds(began - last_listing_));
  deps_.strands.Run(
      "relist", [this, alive = alive_, began, deadline = Deadline{began + config_.request_timeout},
                 reader = &deps_.reader, loop = &deps_.loop] {
        auto listed = List(*reader, began, deadline);
        loop->Post([this, alive, began, listed = std::move(listed)] {
          if (*alive) OnListed(began, listed);
        });
      });
}

void PlegService::OnListed(Clock::Time began, const StatusOr<std::shared_ptr<Listing>>& listed) {
  listing_ = false;
  listing_took_ = deps_.clock.Now() - began;
  metrics_.relist_seconds.Observe(Seconds(listing_took_));
  if (listed.ok()) {
    const bool was_away = !list_error_.ok();
    if (was_away) deps_.log.Info("runtime answers again");
    list_error_ = OkStatus();
    last_listing_ = began;
    metrics_.last_seen.Set(
        Seconds(deps_.clock.WallNow().time_since_epoch() - (deps_.clock.Now() - began)));
    metrics_.CountRunning(**listed);
    Reconcile(**listed);
    if (was_away) feed_.Probe();
  } else {
    OnListingFailed(listed.status());
  }
  const Duration regular = feed_.streaming() ? config_.streaming_period : config_.polling_period;
  const bool common = std::exchange(common_again_, false);
  ArmRelist(std::min({regular, std::exchange(list_again_, std::nullopt).value_or(regular),
                      common ? CommonDelay() : regular}));
  LookForUnknownIds();
  PutCompleteness();
}

void PlegService::OnListingFailed(const Status& status) {
  if (status.code() != list_error_.code())
    deps_.log.Warn("listing the runtime failed", {KV("err", status)});
  list_error_ = status;
  for (auto& done : std::exchange(answer_listing_, {})) done(status);
  // Who waited for it does not wait for the next regular one.
  for (const std::string& uid : std::set<std::string>(unseen_)) LookAgain(uid, pods_[uid]);
}

void PlegService::Reconcile(Listing& listing) {
  strangers_ = std::move(listing.strangers);
  for (auto& [uid, listed] : listing.pods) {
    Pod& pod = pods_[uid];
    pod.name = listed.name;
    pod.name_space = listed.name_space;
    pod.absent_at = {};
    TakeUnknownIds(uid, listed.states, pod);
    if (pod.known && pod.listed_at >= listing.began && pod.error.ok()) {
      LookAgain(uid, pod);
      continue;  // the record is newer
    }
    if (pod.known && pod.states == listed.states && pod.error.ok()) {
      SetVouched(uid, true);
      LookAgain(uid, pod);
      continue;
    }
    SetVouched(uid, false);
    pod.differs_at = listing.began;
    if (pod.error.ok()) awaited_.insert(uid);
    Inspect(uid, pod.listed_at < listing.began ? &listed.shown : nullptr);
  }
  std::vector<std::string> gone;
  for (auto& [uid, pod] : pods_) {
    if (listing.pods.contains(uid) || (pod.known && pod.listed_at >= listing.began)) continue;
    pod.absent_at = listing.began;
    gone.push_back(uid);
  }
  for (const auto& uid : gone) {
    Pod& pod = pods_[uid];
    Forget(uid, pod);
    LookAgain(uid, pod);
    DropIfIdle(uid);
  }
  std::move(answer_listing_.begin(), answer_listing_.end(), std::back_inserter(answer_inspected_));
  answer_listing_.clear();
}

// An id that an event named and no pod has: a listing may show it a little later.
void PlegService::LookForUnknownIds() {
  std::optional<Duration> soonest;
  for (auto it = unknown_ids_.begin(); it != unknown_ids_.end();) {
    if (pod_of_.contains(it->first) || strangers_.contains(it->first) ||
        it->second.listings >= config_.list_again.size()) {
      it = unknown_ids_.erase(it);
      continue;
    }
    const Duration wait = config_.list_again[it->second.listings++];
    soonest = std::min(soonest.value_or(wait), wait);
    ++it;
  }
  if (soonest) RelistWithin(std::max(*soonest, DelayOfUnknown()));
}

void PlegService::TakeUnknownIds(const std::string& uid, const States& ids, Pod& pod) {
  if (unknown_ids_.empty()) return;
  for (const auto& [id, state] : ids) {
    const auto unknown = unknown_ids_.extract(id);
    if (unknown.empty()) continue;
    // What is short has ended, and the runtime may not show it yet.
    AddUnseen(uid, pod, unknown.mapped().newest);
    BeginLooks(pod, 0);
  }
}

// Events.

void PlegService::OnContainerEvent(const cri::ContainerEvent& event) {
  using Kind = cri::ContainerEvent::Kind;
  if (event.kind == Kind::kCreated) return;  // shown with its start, or by the next listing
  std::string uid = event.pod_uid;
  const auto owner = pod_of_.find(event.container_id);
  if (uid.empty() && owner != pod_of_.end()) uid = owner->second;
  if (uid.empty()) {
    // Never seen, and gone; or nobody's pod.
    if (event.kind == Kind::kDeleted || strangers_.contains(event.container_id)) return;
    const auto [unknown, first] = unknown_ids_.try_emplace(event.container_id);
    unknown->second.newest = event;
    if (first) RelistWithin(DelayOfUnknown());
    return;
  }
  if (event.kind == Kind::kDeleted && !pods_.contains(uid)) return;
  Pod& pod = pods_[uid];
  if (pod.known && pod.error.ok() && Shows(pod.states, event)) return;
  const bool looks_soon = !pod.unseen.empty() && pod.looks <= kShortLooks;
  AddUnseen(uid, pod, event);
  if (!IsShownLate(uid, event)) {
    BeginLooks(pod, 0);
    return LookForUnseen(uid);
  }
  if (looks_soon) return;  // for something else; the longer waits follow
  BeginLooks(pod, kShortLooks);
  LookAgain(uid, pod);
}

// kStopped follows kStopping. containerd 1.6 ends the shim of a sandbox before its CRI shows the
// end, and tells the end by its own events, which name no pod.
bool PlegService::IsShownLate(const std::string& uid, const cri::ContainerEvent& event) const {
  if (event.kind == cri::ContainerEvent::Kind::kStopping) return true;
  if (event.kind != cri::ContainerEvent::Kind::kStopped || !event.pod_uid.empty()) return false;
  const auto record = deps_.table.Get(bus::KeyOf(uid));
  return record != nullptr && HasSandbox(record->pod(), event.container_id);
}

void PlegService::AddUnseen(const std::string& uid, Pod& pod, const cri::ContainerEvent& event) {
  if (pod.unseen.size() < kMaxUnseen) pod.unseen.push_back(event);
  unseen_.insert(uid);
}

void PlegService::BeginLooks(Pod& pod, size_t skipped) {
  pod.looks = skipped;
  deps_.loop.CancelTimer(std::exchange(pod.look_timer, 0));
}

void PlegService::LookForUnseen(const std::string& uid) {
  if (unseen_.size() <= kFew || !list_error_.ok()) return Inspect(uid);
  if (listing_) {
    common_again_ = true;
  } else {
    RelistWithin(CommonDelay());
  }
}

// Inspections.

void PlegService::Inspect(const std::string& uid, cri::PodListing* listed) {
  Pod& pod = pods_[uid];
  if (pod.inspecting) {
    pod.again = true;
    return;
  }
  // Whoever asked since that listing began wants a newer one.
  std::shared_ptr<cri::PodListing> shown;
  if (listed != nullptr && pod.answer_next.empty())
    shown = std::make_shared<cri::PodListing>(std::move(*listed));
  pod.inspecting = true;
  pod.inspecting_since = deps_.clock.Now();
  pod.answer_now = std::exchange(pod.answer_next, {});
  const Deadline deadline{pod.inspecting_since + config_.inspect_timeout};
  std::shared_ptr<const v1::RuntimeRecord> known;
  if (pod.known && pod.error.ok()) known = deps_.table.Get(bus::KeyOf(uid));
  deps_.strands.Run(
      "pod/" + uid, [this, alive = alive_, uid, deadline, known, shown, loop = &deps_.loop] {
        auto look = [&]() -> StatusOr<std::shared_ptr<v1::ObservedPod>> {
          RETURN_IF_ERROR(BeforeInspection(), "inspect");
          ASSIGN_OR_RETURN(
              auto observed,
              observer_.Observe(uid, deadline, known ? &known->pod() : nullptr, shown.get()),
              "inspect");
          return std::make_shared<v1::ObservedPod>(std::move(observed));
        };
        loop->Post([this, alive, uid, observed = look()] {
          if (*alive) OnInspected(uid, observed);
        });
      });
}

void PlegService::OnInspected(const std::string& uid,
                              const StatusOr<std::shared_ptr<v1::ObservedPod>>& observed) {
  Pod& pod = pods_[uid];
  pod.inspecting = false;
  metrics_.pod_relist_seconds.Observe(Seconds(deps_.clock.Now() - pod.inspecting_since));
  const bool again = std::exchange(pod.again, false);
  const bool awaited = awaited_.contains(uid);
  if (!observed.ok()) {
    TakeError(uid, pod, observed.status());
  } else if (pod.absent_at && bus::FromProto((*observed)->listed_at()) < pod.absent_at) {
    // It began before a listing that did not show the pod.
    std::move(pod.answer_now.begin(), pod.answer_now.end(), std::back_inserter(pod.answer_next));
    Inspect(uid);
    return;
  } else {
    TakeObserved(uid, pod, **observed);
  }
  const bool covers = !observed.ok() || pod.listed_at >= pod.differs_at;
  if (!covers) {
    SetVouched(uid, false);
    if (awaited) awaited_.insert(uid);
  }
  Answer(uid, pod, observed.status());
  if (again || !pod.answer_next.empty()) {
    Inspect(uid);
  } else {
    LookAgain(uid, pod);
  }
  DropIfIdle(uid);
  if (covers) awaited_.erase(uid);
  awaited&& awaited_.empty() ? PutCompleteness() : PutCompletenessSoon();
}

void PlegService::TakeObserved(const std::string& uid, Pod& pod, v1::ObservedPod& observed) {
  if (!pod.error.ok()) deps_.loop.CancelTimer(std::exchange(pod.later_timer, 0));
  retry_wait_.Reset(uid);
  pod.error = OkStatus();
  SetVouched(uid, true);
  pod.listed_at = bus::FromProto(observed.listed_at());
  const States before = pod.states;
  if (observed.sandboxes().empty() && observed.containers().empty()) {
    Forget(uid, pod);
    return;
  }
  const auto old = deps_.table.Get(bus::KeyOf(uid));
  if (old != nullptr) KeepAddresses(old->pod(), observed);
  for (const auto& [id, state] : before) pod_of_.erase(id);
  pod.states = StatesOf(observed);
  for (const auto& [id, state] : pod.states) pod_of_[id] = uid;
  TakeUnknownIds(uid, pod.states, pod);
  pod.known = true;
  if (AnyEnded(before, pod.states)) pod.traceparent = MakeTraceparent(random_);
  // No event comes when the runtime learns that a container was killed for memory.
  if (AnyKilled(before, observed)) InspectLater(uid, pod, kReasonSettles);
  for (const Event& event : Diff(before, pod.states)) {
    metrics_.changes.Add({{"type", pleg::NameOf(event.type)}}).Increment();
    deps_.log.Debug("container changed",
                    {KV("podUID", uid), KV("type", pleg::NameOf(event.type)), KV("id", event.id),
                     KV(kTraceIdField, TraceIdOf(pod.traceparent))});
  }
  const bool same = old != nullptr && old->inspect_error().empty() &&
                    ContentOf(old->pod()) == ContentOf(observed);
  if (same) return;
  v1::RuntimeRecord record;
  *record.mutable_pod() = observed;
  PutRuntime(uid, record, pod.traceparent);
  if (MakesWork(before, observed)) SignalPodChanged(uid);
}

void PlegService::TakeError(const std::string& uid, Pod& pod, const Status& status) {
  metrics_.inspect_errors.Increment();
  if (pod.error.code() != status.code()) {
    deps_.log.Warn("inspecting a pod failed",
                   {KV("podUID", uid), KV("pod", pod.name), KV("err", status)});
  }
  pod.error = status;
  if (pod.later_timer == 0) InspectLater(uid, pod, retry_wait_.Next(uid));
  SetVouched(uid, false);
  // A record that was good stays as it is, with the error beside it: an error says nothing of the
  // pod.
  v1::RuntimeRecord record;
  if (const auto old = deps_.table.Get(bus::KeyOf(uid)); old != nullptr) record = *old;
  record.mutable_pod()->set_uid(uid);
  if (record.pod().name().empty()) {
    record.mutable_pod()->set_name(pod.name);
    record.mutable_pod()->set_namespace_(pod.name_space);
  }
  const std::string text = ToString(status);
  if (record.inspect_error() == text) return;
  record.set_inspect_error(text);
  PutRuntime(uid, record, pod.traceparent);
}

// The next of the short waits, while an event named something that the runtime does not show yet.
// An inspection that runs does it at its end.
void PlegService::LookAgain(const std::string& uid, Pod& pod) {
  if (pod.inspecting || pod.unseen.empty()) return;
  std::erase_if(pod.unseen,
                [&pod](const cri::ContainerEvent& event) { return Shows(pod.states, event); });
  if (pod.unseen.empty() || (pod.look_timer == 0 && pod.looks >= config_.look_again.size())) {
    pod.unseen.clear();
    unseen_.erase(uid);
    deps_.loop.CancelTimer(std::exchange(pod.look_timer, 0));
    return;
  }
  if (pod.look_timer != 0) return;
  pod.look_timer = deps_.loop.RunAfter(config_.look_again[pod.looks++], [this, uid] {
    pods_[uid].look_timer = 0;
    LookForUnseen(uid);
  });
}

void PlegService::InspectLater(const std::string& uid, Pod& pod, Duration wait) {
  deps_.loop.CancelTimer(pod.later_timer);
  pod.later_timer = deps_.loop.RunAfter(wait, [this, uid] {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    found->second.later_timer = 0;
    Inspect(uid);
  });
}

void PlegService::Answer(const std::string& uid, Pod& pod, const Status& failed) {
  auto waiting = std::exchange(pod.answer_now, {});
  if (waiting.empty()) return;
  if (!failed.ok()) {
    for (auto& done : waiting) done(failed);
    return;
  }
  std::shared_ptr<v1::RuntimeRecord> record = deps_.table.Get(bus::KeyOf(uid));
  if (record == nullptr) record = std::make_shared<v1::RuntimeRecord>();
  record->mutable_pod()->set_uid(uid);
  // The record may be older where nothing has changed since; the answer is as fresh as its look.
  record->mutable_pod()->mutable_listed_at()->set_boot(pod.listed_at.boot);
  record->mutable_pod()->mutable_listed_at()->set_monotonic_ns(pod.listed_at.monotonic.count());
  for (auto& done : waiting) done(record);
}

void PlegService::Forget(const std::string& uid, Pod& pod) {
  for (const Event& event : Diff(pod.states, {})) {
    metrics_.changes.Add({{"type", pleg::NameOf(event.type)}}).Increment();
    pod_of_.erase(event.id);
  }
  if (AnyEnded(pod.states, {})) pod.traceparent = MakeTraceparent(random_);
  pod.states.clear();
  pod.known = false;
  SetVouched(uid, true);
  pod.error = OkStatus();
  if (deps_.table.Contains(bus::KeyOf(uid))) {
    deps_.table.Remove(bus::KeyOf(uid), pod.traceparent);
    SignalPodChanged(uid);
  }
}

void PlegService::DropIfIdle(const std::string& uid) {
  const Pod& pod = pods_[uid];
  if (pod.known || pod.inspecting || !pod.error.ok() || pod.look_timer != 0) return;
  deps_.loop.CancelTimer(pod.later_timer);
  retry_wait_.Reset(uid);
  unseen_.erase(uid);
  pods_.erase(uid);
}

// Outputs.

void PlegService::PutRuntime(const std::string& uid, const v1::RuntimeRecord& record,
                             const std::string& traceparent) {
  FAIL_POINT_VOID("pleg.put.before");
  const Status put = deps_.table.Put(bus::KeyOf(uid), record, traceparent);
  deps_.log.LogIfError(put, "put the runtime record of a pod");
  FAIL_POINT_VOID("pleg.put.after");
}

void PlegService::SignalPodChanged(const std::string& uid) { deps_.bus.Signal("pod-changed", uid); }

void PlegService::SetVouched(const std::string& uid, bool vouched) {
  if (!vouched) {
    unvouched_.insert(bus::KeyOf(uid));
    return;
  }
  unvouched_.erase(bus::KeyOf(uid));
  awaited_.erase(uid);
}

void PlegService::PutCompletenessSoon() {
  if (deps_.table.completeness().not_vouched == unvouched_ || report_timer_ != 0) return;
  report_timer_ = deps_.loop.RunAfter(kReportPeriod, [this] {
    report_timer_ = 0;
    PutCompleteness();
  });
}

void PlegService::AwaitSlowOnes() {
  if (slow_timer_ != 0) return;
  slow_timer_ = deps_.loop.RunAfter(kSlow, [this] {
    slow_timer_ = 0;
    std::erase_if(awaited_, [this](const std::string& uid) {
      return deps_.clock.Now() - pods_[uid].inspecting_since >= kSlow;
    });
    PutCompleteness();
  });
}

void PlegService::PutCompleteness() {
  if (!last_listing_) return;
  metrics_.unvouched_pods.Set(static_cast<double>(unvouched_.size()));
  const bool waits = !awaited_.empty();
  if (waits) {
    AwaitSlowOnes();
  } else {
    for (auto& done : std::exchange(answer_inspected_, {})) done(last_listing_);
  }
  // The first time every pod listed has a record before anybody may take an absence for a fact.
  if (!complete_ && waits) return;
  if (!std::exchange(complete_, true)) PutSlowOnes();
  bus::Completeness completeness{
      .scopes = {std::string(bus::kAll)}, .observed_at = last_listing_, .not_vouched = unvouched_};
  if (deps_.table.completeness() != completeness) deps_.table.SetComplete(std::move(completeness));
}

void PlegService::PutSlowOnes() {
  for (const auto& [uid, pod] : pods_) {
    if (!unvouched_.contains(bus::KeyOf(uid)) || deps_.table.Contains(bus::KeyOf(uid))) continue;
    v1::RuntimeRecord record;
    record.mutable_pod()->set_uid(uid);
    record.mutable_pod()->set_name(pod.name);
    record.mutable_pod()->set_namespace_(pod.name_space);
    record.set_inspect_error("the first inspection takes long");
    PutRuntime(uid, record, pod.traceparent);
  }
}

// Calls.

void PlegService::OnGetPodStatus(const std::string& uid, PodDone done) {
  Pod& pod = pods_[uid];
  if (pod.answer_next.size() >= kMaxWaiting) {
    done(ResourceExhausted("too many wait for pod {}", uid));
    return;
  }
  pod.answer_next.push_back(std::move(done));
  Inspect(uid);
}

void PlegService::OnRelist(RelistDone done) {
  if (answer_next_listing_.size() >= kMaxWaiting) {
    done(ResourceExhausted("too many wait for a listing"));
    return;
  }
  answer_next_listing_.push_back(std::move(done));
  RelistSoon();
}

// Health.

void PlegService::BeginStatus() {
  deps_.strands.Run("status", [this, alive = alive_, reader = &deps_.reader, loop = &deps_.loop,
                               deadline = After(deps_.clock, config_.status_threshold)] {
    auto info = reader->Version(deadline);
    auto report =
        info.ok() ? reader->RuntimeStatus(deadline) : StatusOr<cri::RuntimeReport>(info.status());
    loop->Post([this, alive, report = std::move(report), info = std::move(info)] {
      if (*alive) OnStatus(report, info);
    });
  });
}

void PlegService::OnStatus(const StatusOr<cri::RuntimeReport>& report,
                           const StatusOr<cri::RuntimeInfo>& info) {
  if (info.ok()) info_ = *info;
  if (report.ok()) {
    report_ = *report;
    was_ready_ = was_ready_ || IsReady(report_);
    status_at_ = deps_.clock.Now();
  } else if (status_error_.code() != report.status().code()) {
    deps_.log.Warn("asking the runtime for its status failed", {KV("err", report.status())});
  }
  status_error_ = report.status();
  const Duration period = StatusPeriod(config_, was_ready_, deps_.clock.Now() - started_);
  status_timer_ = deps_.loop.RunAfter(period, [this] { BeginStatus(); });
}

bool PlegService::RuntimeDown() const {
  return status_at_ && deps_.clock.Now() - *status_at_ > config_.status_threshold;
}

std::vector<std::string> PlegService::RuntimeErrors() const {
  std::vector<std::string> errors;
  const Clock::Time now = deps_.clock.Now();
  if (!status_at_) {
    errors.push_back("container runtime status check may not have completed yet");
  } else if (RuntimeDown()) {
    errors.push_back("container runtime is down");
  }
  if (!last_listing_) {
    errors.push_back("PLEG is not healthy: pleg has yet to be successful");
  } else if (now - last_listing_ > config_.relist_threshold) {
    errors.push_back(fmt::format(
        "PLEG is not healthy: pleg was last seen active {} ago; threshold is {}",
        FormatGoDuration(now - last_listing_), FormatGoDuration(config_.relist_threshold)));
  }
  for (const auto& condition : report_.conditions) {
    if (condition.type != "RuntimeReady" || condition.status) continue;
    errors.push_back(
        fmt::format("container runtime not ready: RuntimeReady=false reason:{} message:{}",
                    condition.reason, condition.message));
  }
  return errors;
}

std::vector<std::string> PlegService::Stuck() const {
  std::vector<std::string> stuck;
  for (const auto& [uid, pod] : pods_) {
    const bool hangs = pod.inspecting && deps_.clock.Now() - pod.inspecting_since > kStuckAfter;
    if (hangs || pod.error.code() == StatusCode::kDeadlineExceeded) stuck.push_back(uid);
  }
  return stuck;
}

daemon::Health PlegService::GetHealth() const {
  const auto errors = RuntimeErrors();
  if (!errors.empty()) return {false, fmt::format("{}", fmt::join(errors, ", "))};
  return {complete_, complete_ ? "" : "the runtime is not listed yet"};
}

v1::PlegHealth PlegService::GetPlegHealth() const {
  v1::PlegHealth health;
  const auto errors = RuntimeErrors();
  health.set_healthy(errors.empty());
  if (errors.size() == 1) health.set_reason(errors.front());
  if (errors.size() > 1) health.set_reason(fmt::format("[{}]", fmt::join(errors, ", ")));
  health.mutable_errors()->Assign(errors.begin(), errors.end());
  health.set_runtime_down(RuntimeDown());
  health.set_event_source(feed_.name());
  health.mutable_last_relist()->set_boot(last_listing_.boot);
  health.mutable_last_relist()->set_monotonic_ns(last_listing_.monotonic.count());
  for (const auto& uid : Stuck()) health.add_stuck(uid);
  health.mutable_features()->set_known(status_at_.has_value());
  AddReport(report_, health);
  health.set_runtime_name(info_.name);
  health.set_runtime_version(info_.version);
  return health;
}

}  // namespace splitlet::pleg
