#include "services/pleg/inspection/inspector.h"

#include <iterator>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/bus/boot_time.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pleg {
namespace {

// The runtime may learn this long after an exit that it was for memory.
constexpr Duration kReasonSettles = std::chrono::seconds{1};
// After a failed inspection. The wait doubles with each failure, up to the period of listings.
constexpr Duration kInspectAgain = std::chrono::seconds{1};

Status BeforeInspection() {
  FAIL_POINT("pleg.inspect.before");
  return OkStatus();
}

}  // namespace

Inspector::Inspector(Deps deps)
    : deps_(std::move(deps)),
      observer_(std::make_shared<cri::Observer>(cri::Observer::Deps{
          .reader = deps_.reader, .clock = deps_.env.clock, .read_tail = deps_.read_tail})),
      random_(deps_.seed),
      retry_wait_(deps_.env.clock,
                  {.initial = kInspectAgain, .max = deps_.config.streaming_period}),
      asker_(deps_.env.loop, deps_.env.strands) {}

Inspector::~Inspector() {
  for (const auto& [uid, pod] : pods_) deps_.env.loop.CancelTimer(pod.later_timer);
}

const States* Inspector::FindStates(const std::string& uid) const {
  const auto at = pods_.find(uid);
  return at == pods_.end() ? nullptr : &at->second.states;
}

bool Inspector::IsCurrent(const std::string& uid) const {
  const auto at = pods_.find(uid);
  return at != pods_.end() && at->second.current();
}

bool Inspector::IsInspecting(const std::string& uid) const {
  const auto at = pods_.find(uid);
  return at != pods_.end() && at->second.progress != Progress::kIdle;
}

bool Inspector::HasSandbox(const std::string& uid, const std::string& id) const {
  const auto record = deps_.table.Get(bus::KeyOf(uid));
  return record != nullptr && pleg::HasSandbox(record->pod(), id);
}

Clock::Time Inspector::InspectingSince(const std::string& uid) const {
  const auto at = pods_.find(uid);
  return at == pods_.end() ? Clock::Time{} : at->second.inspecting_since;
}

void Inspector::Reconcile(Listing& listing) {
  for (auto& [uid, listed] : listing.pods) {
    Pod& pod = pods_[uid];
    pod.name = listed.name;
    pod.name_space = listed.name_space;
    pod.absent_at = {};
    deps_.events.AdoptIds(uid, listed.states);
    const Comparison comparison = Judge(pod, listing.began, listed.states);
    if (comparison == Comparison::kSame) deps_.vouching.Vouch(uid);
    if (comparison != Comparison::kDiffers) {
      deps_.events.Continue(uid);
      continue;
    }
    deps_.vouching.Withdraw(uid);
    pod.differs_at = listing.began;
    if (pod.error.ok()) deps_.vouching.Await(uid);
    Inspect(uid, pod.listed_at < listing.began ? &listed.shown : nullptr);
  }
  std::vector<std::string> gone;
  for (auto& [uid, pod] : pods_) {
    if (listing.pods.contains(uid) || !IsGone(pod, listing.began)) continue;
    pod.absent_at = listing.began;
    gone.push_back(uid);
  }
  for (const auto& uid : gone) {
    Forget(uid, pods_[uid]);
    deps_.events.Continue(uid);
    DropIfIdle(uid);
  }
}

void Inspector::Ask(const std::string& uid, Done done) {
  Pod& pod = pods_[uid];
  if (pod.answer_next.size() >= kMaxAskers) {
    done(ResourceExhausted("too many calls wait for pod {}", uid));
    return;
  }
  pod.answer_next.push_back(std::move(done));
  Inspect(uid);
}

void Inspector::Inspect(const std::string& uid, cri::PodListing* listed) {
  Pod& pod = pods_[uid];
  const Transition asked = Advance(pod.progress, Step::kAsked);
  pod.progress = asked.to;
  if (!asked.begins) return;
  // A caller that asked after the listing began needs a newer listing of the pod.
  std::shared_ptr<cri::PodListing> shown;
  if (listed != nullptr && pod.answer_next.empty())
    shown = std::make_shared<cri::PodListing>(std::move(*listed));
  pod.inspecting_since = deps_.env.clock.Now();
  pod.answer_now = std::exchange(pod.answer_next, {});
  const Deadline deadline{pod.inspecting_since + deps_.config.inspect_timeout};
  std::shared_ptr<const v1::RuntimeRecord> known;
  if (pod.current()) known = deps_.table.Get(bus::KeyOf(uid));
  asker_.Ask(
      "pod/" + uid,
      [uid, deadline, known, shown, observer = observer_]() -> StatusOr<Observed> {
        RETURN_IF_ERROR(BeforeInspection(), "inspect");
        ASSIGN_OR_RETURN(
            auto observed,
            observer->Observe(uid, deadline, known ? &known->pod() : nullptr, shown.get()),
            "inspect");
        return std::make_shared<v1::ObservedPod>(std::move(observed));
      },
      [this, uid](const StatusOr<Observed>& observed) { OnInspected(uid, observed); });
}

void Inspector::OnInspected(const std::string& uid, const StatusOr<Observed>& observed) {
  Pod& pod = pods_[uid];
  Vouching& vouching = deps_.vouching;
  const Transition ended = Advance(pod.progress, Step::kEnded);
  pod.progress = ended.to;
  deps_.metrics.pod_relist_seconds.Observe(Seconds(deps_.env.clock.Now() - pod.inspecting_since));
  const bool awaited = vouching.IsAwaited(uid);
  const Age age =
      observed.ok() ? AgeOf(pod, bus::FromProto((*observed)->listed_at())) : Age::kCurrent;
  if (age == Age::kBeforeAbsence) {
    std::move(pod.answer_now.begin(), pod.answer_now.end(), std::back_inserter(pod.answer_next));
    Inspect(uid);
    return;
  }
  observed.ok() ? AcceptObserved(uid, pod, **observed) : AcceptError(uid, pod, observed.status());
  if (age == Age::kBeforeDifference) {
    vouching.Withdraw(uid);
    if (awaited) vouching.Await(uid);
  }
  Answer(uid, pod, observed.status());
  if (ended.begins || !pod.answer_next.empty()) {
    Inspect(uid);
  } else {
    deps_.events.Continue(uid);
  }
  DropIfIdle(uid);
  if (age == Age::kCurrent) vouching.Release(uid);
  awaited && !vouching.AnyAwaited() ? vouching.Put() : vouching.PutSoon();
}

void Inspector::AcceptObserved(const std::string& uid, Pod& pod, v1::ObservedPod& observed) {
  if (!pod.error.ok()) deps_.env.loop.CancelTimer(std::exchange(pod.later_timer, 0));
  retry_wait_.Reset(uid);
  pod.error = OkStatus();
  deps_.vouching.Vouch(uid);
  pod.listed_at = bus::FromProto(observed.listed_at());
  if (observed.sandboxes().empty() && observed.containers().empty()) {
    Forget(uid, pod);
    return;
  }
  const auto old = deps_.table.Get(bus::KeyOf(uid));
  if (old != nullptr) KeepAddresses(old->pod(), observed);
  const States before = std::exchange(pod.states, StatesOf(observed));
  const Acceptance accepted = Accept(before, old.get(), observed);
  deps_.events.OnStates(uid, before, pod.states);
  pod.known = true;
  if (accepted.begins_trace) pod.traceparent = MakeTraceparent(random_);
  // No event comes when the runtime learns that a container was killed for memory.
  if (accepted.reason_follows) InspectLater(uid, pod, kReasonSettles);
  ReportChanges(uid, pod, before);
  if (accepted.publish == Acceptance::Publish::kNothing) return;
  v1::RuntimeRecord record;
  *record.mutable_pod() = observed;
  PutRuntime(uid, record, pod.traceparent);
  if (accepted.publish == Acceptance::Publish::kPutAndSignal) deps_.on_changed(uid);
}

void Inspector::ReportChanges(const std::string& uid, const Pod& pod, const States& before) {
  for (const Event& event : Diff(before, pod.states)) {
    deps_.metrics.changes.Add({{"type", NameOf(event.type)}}).Increment();
    deps_.env.log.Debug("container changed",
                        {KV("podUID", uid), KV("type", NameOf(event.type)), KV("id", event.id),
                         KV(kTraceIdField, TraceIdOf(pod.traceparent))});
  }
}

void Inspector::AcceptError(const std::string& uid, Pod& pod, const Status& status) {
  deps_.metrics.inspect_errors.Increment();
  if (pod.error.code() != status.code()) {
    deps_.env.log.Warn("cannot inspect a pod, will inspect it again",
                       {KV("podUID", uid), KV("pod", pod.name), KV("err", status)});
  }
  pod.error = status;
  if (pod.later_timer == 0) InspectLater(uid, pod, retry_wait_.Next(uid));
  deps_.vouching.Withdraw(uid);
  const auto old = deps_.table.Get(bus::KeyOf(uid));
  const auto record = WithError(old.get(), NamesOf(uid, pod), ToString(status));
  if (record) PutRuntime(uid, *record, pod.traceparent);
}

void Inspector::InspectLater(const std::string& uid, Pod& pod, Duration wait) {
  deps_.env.loop.CancelTimer(pod.later_timer);
  pod.later_timer = deps_.env.loop.RunAfter(wait, [this, uid] {
    const auto found = pods_.find(uid);
    if (found == pods_.end()) return;
    found->second.later_timer = 0;
    Inspect(uid);
  });
}

void Inspector::Answer(const std::string& uid, Pod& pod, const Status& failed) {
  auto waiting = std::exchange(pod.answer_now, {});
  if (waiting.empty()) return;
  if (!failed.ok()) {
    for (auto& done : waiting) done(failed);
    return;
  }
  std::shared_ptr<v1::RuntimeRecord> record = deps_.table.Get(bus::KeyOf(uid));
  if (record == nullptr) record = std::make_shared<v1::RuntimeRecord>();
  record->mutable_pod()->set_uid(uid);
  // A record in which nothing changed keeps its time; the answer has the time of this inspection.
  record->mutable_pod()->mutable_listed_at()->set_boot(pod.listed_at.boot);
  record->mutable_pod()->mutable_listed_at()->set_monotonic_ns(pod.listed_at.monotonic.count());
  for (auto& done : waiting) done(record);
}

void Inspector::Forget(const std::string& uid, Pod& pod) {
  for (const Event& event : Diff(pod.states, {}))
    deps_.metrics.changes.Add({{"type", NameOf(event.type)}}).Increment();
  deps_.events.OnStates(uid, pod.states, {});
  if (AnyEnded(pod.states, {})) pod.traceparent = MakeTraceparent(random_);
  pod.states.clear();
  pod.known = false;
  deps_.vouching.Vouch(uid);
  pod.error = OkStatus();
  if (deps_.table.Contains(bus::KeyOf(uid))) {
    FAIL_POINT_VOID("pleg.remove.before");
    deps_.table.Remove(bus::KeyOf(uid), pod.traceparent);
    FAIL_POINT_VOID("pleg.remove.after");
    deps_.on_changed(uid);
  }
}

void Inspector::DropIfIdle(const std::string& uid) {
  const Pod& pod = pods_[uid];
  if (pod.known || pod.progress != Progress::kIdle || !pod.error.ok() ||
      deps_.events.IsWaiting(uid))
    return;
  deps_.env.loop.CancelTimer(pod.later_timer);
  retry_wait_.Reset(uid);
  deps_.events.Forget(uid);
  pods_.erase(uid);
}

void Inspector::PutRuntime(const std::string& uid, const v1::RuntimeRecord& record,
                           const std::string& traceparent) {
  FAIL_POINT_VOID("pleg.put.before");
  const Status put = deps_.table.Put(bus::KeyOf(uid), record, traceparent);
  deps_.env.log.LogIfError(put, "put the runtime record of a pod");
  FAIL_POINT_VOID("pleg.put.after");
}

void Inspector::PutMissing() {
  for (const auto& [uid, pod] : pods_) {
    if (deps_.vouching.IsVouched(uid) || deps_.table.Contains(bus::KeyOf(uid))) continue;
    const auto record =
        WithError(nullptr, NamesOf(uid, pod), "the first inspection has not ended yet");
    PutRuntime(uid, *record, pod.traceparent);
  }
}

std::vector<std::string> Inspector::Stuck() const {
  std::vector<std::string> stuck;
  const Clock::Time now = deps_.env.clock.Now();
  for (const auto& [uid, pod] : pods_)
    if (IsStuck(pod.progress, now - pod.inspecting_since, pod.error)) stuck.push_back(uid);
  return stuck;
}

}  // namespace splitlet::pleg
