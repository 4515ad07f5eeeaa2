#include "services/sync-loop/grants/grant_sender.h"

#include <memory>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "services/sync-loop/grants/allocated.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

using Kind = NextCall::Kind;

/// Races of one pod in a row that are logged at debug level only.
constexpr int kRacesNotLogged = 2;

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

std::string OperationOf(Kind kind) {
  switch (kind) {
    case Kind::kNone: return "none";
    case Kind::kCreate: return "create";
    case Kind::kUpdate: return "update";
    case Kind::kSync: return "sync";
    case Kind::kKill: return "kill";
  }
  UNREACHABLE();
}

/// pod-worker would refuse the same grant at any time.
bool IsRefusedForGood(Kind kind, const Status& status) {
  return (kind == Kind::kCreate || kind == Kind::kUpdate) &&
         (status.code() == StatusCode::kInvalidArgument ||
          status.code() == StatusCode::kPermissionDenied);
}

/// The pod changed between two messages; the next call carries the newer version.
bool IsRace(const Status& status) { return status.code() == StatusCode::kFailedPrecondition; }

Status UpdatePod(peers::GrantClient& client, const v1::UpdatePodRequest& request,
                 const std::string& traceparent, const Deadline& deadline) {
  FAIL_POINT("sync-loop.update-pod.before");
  RETURN_IF_ERROR(client.UpdatePod(request, deadline, traceparent), "UpdatePod");
  FAIL_POINT("sync-loop.update-pod.after");
  return OkStatus();
}

Status KillPod(peers::GrantClient& client, const v1::KillPodRequest& request,
               const std::string& traceparent, const Deadline& deadline) {
  FAIL_POINT("sync-loop.kill-pod.before");
  RETURN_IF_ERROR(client.KillPod(request, deadline, traceparent), "KillPod");
  FAIL_POINT("sync-loop.kill-pod.after");
  return OkStatus();
}

}  // namespace

GrantSender::GrantSender(const Deps& deps, uint64_t seed)
    : deps_(deps),
      random_(seed),
      backoff_(deps.env.clock, {.initial = 100ms, .max = 5s, .jitter = 0.5}),
      queue_(deps.env.loop, deps.env.clock, [this](const std::string& key) { OnDue(key); }),
      asker_(deps.env.loop, deps.env.strands) {}

void GrantSender::Start() { started_ = deps_.env.clock.Now(); }

void GrantSender::Check(const std::string& key) { queue_.Add(key, backoff_.Remaining(key)); }

void GrantSender::CheckAll() {
  for (const auto& [key, digest] : deps_.known.pods()) {
    if (Compare(key).kind != Kind::kNone) Check(key);
  }
}

void GrantSender::MakeSyncDue(const std::string& key, const std::string& traceparent) {
  std::string& trace = sync_due_[key];
  if (!traceparent.empty()) trace = traceparent;
}

void GrantSender::Forget(const std::string& key) {
  sync_due_.erase(key);
  ForgetSent(key);
}

void GrantSender::ForgetSent(const std::string& key) {
  queue_.Remove(key);
  sent_.erase(key);
  failures_.erase(key);
  again_.erase(key);
  backoff_.Reset(key);
}

bool GrantSender::MayBeGranted(const std::string& key) const {
  if (in_flight_.contains(key)) return true;
  const auto sent = sent_.find(key);
  return sent != sent_.end() && sent->second.what.kind == Kind::kCreate && !sent->second.refused &&
         deps_.env.clock.Now() - sent->second.at < kEcho;
}

NextCall GrantSender::Compare(const std::string& key) const {
  const PodDigest* pod = deps_.known.Pod(key);
  if (pod == nullptr || deps_.store.IsUnreadable(key)) return {};
  const bool admitted = deps_.store.StateOf(key, pod->incarnation) == AdmissionState::kDecided &&
                        deps_.store.Find(key)->admitted();
  const bool preempted = admitted && deps_.victims.Contains(key);
  return ComputeNextCall({.pod = pod,
                          .worker = deps_.known.Worker(key),
                          .admission = preempted  ? Admission::kPreempted
                                       : admitted ? Admission::kAdmitted
                                                  : Admission::kNone,
                          .worker_known = deps_.workers.LiveAndComplete(),
                          .running = deps_.known.IsRunning(key),
                          .sync_due = sync_due_.contains(key)});
}

void GrantSender::OnDue(const std::string& key) {
  if (in_flight_.contains(key)) {
    again_.insert(key);
    return;
  }
  const NextCall what = Compare(key);
  const WorkerDigest* worker = deps_.known.Worker(key);
  // From here on the record keeps the refusal. Another version of pod-worker drops it from the
  // record: then the call goes out immediately.
  if (worker != nullptr && worker->refused_generation != 0) sent_.erase(key);
  if (what.kind == Kind::kNone) return;
  const auto sent = sent_.find(key);
  if (sent != sent_.end() && what.kind != Kind::kSync && sent->second.what == what) {
    const Duration age = deps_.env.clock.Now() - sent->second.at;
    if (age < sent->second.Quiet()) {
      queue_.Add(key, sent->second.Quiet() - age);
      return;
    }
  }
  if (in_flight_.size() >= peers::kGrantsAtOnce) {
    if (waiting_keys_.insert(key).second) waiting_.push_back(key);
    return;
  }
  Send(key, Build(key, what));
}

void GrantSender::FillCallSlots() {
  while (!waiting_.empty() && in_flight_.size() < peers::kGrantsAtOnce) {
    const std::string key = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_keys_.erase(key);
    OnDue(key);
  }
}

v1::KillPodRequest GrantSender::BuildKill(const std::string& key, int64_t incarnation) const {
  v1::KillPodRequest kill;
  kill.set_uid(deps_.known.Pod(key)->uid);
  kill.set_incarnation(incarnation);
  // The same id for every try, also after a restart: pod-worker answers all of them alike.
  kill.set_request_id(fmt::format("sync-loop/end/{}/{}", key, incarnation));
  if (deps_.victims.Contains(key)) {
    kill.set_request_id(fmt::format("sync-loop/preempt/{}/{}", key, incarnation));
    kill.set_evict(true);
    kill.set_reason(std::string(kPreempting));
    kill.set_message(std::string(kPreemptingMessage));
  }
  return kill;
}

GrantSender::Call GrantSender::Build(const std::string& key, const NextCall& what) {
  const PodDigest& digest = *deps_.known.Pod(key);
  Call call{.what = what, .traceparent = digest.traceparent};
  if (what.kind == Kind::kKill) {
    call.kill = BuildKill(key, what.incarnation);
    return call;
  }
  if (const auto due = sync_due_.extract(key);
      what.kind == Kind::kSync && !due.empty() && !due.mapped().empty())
    call.traceparent = due.mapped();
  call.update.set_kind(ToProto(what.kind));
  call.update.set_uid(digest.uid);
  call.update.set_incarnation(what.incarnation);
  call.update.set_generation(what.generation);
  call.update.set_request_id(NewRequestId(key));
  call.update.set_source(digest.source);
  const Clock::Time now = deps_.env.clock.Now();
  call.update.mutable_sent_at()->set_boot(now.boot);
  call.update.mutable_sent_at()->set_monotonic_ns(now.monotonic.count());
  if (what.kind == Kind::kSync) return call;
  call.update.set_pod(WithAllocated(digest.pod, deps_.store.Find(key)->pod).bytes());
  return call;
}

void GrantSender::Send(const std::string& key, Call call) {
  in_flight_.insert(key);
  deps_.on_sent(key);
  auto shared = std::make_shared<const Call>(std::move(call));
  asker_.Ask(
      "call/" + key,
      [&client = deps_.client, shared, deadline = After(deps_.env.clock, peers::kGrantTimeout)] {
        return shared->what.kind == Kind::kKill
                   ? KillPod(client, shared->kill, shared->traceparent, deadline)
                   : UpdatePod(client, shared->update, shared->traceparent, deadline);
      },
      [this, key, shared](const Status& status) {
        OnAnswered(key, *shared, status);
        FillCallSlots();
      });
}

void GrantSender::OnAnswered(const std::string& key, const Call& call, const Status& status) {
  const Kind kind = call.what.kind;
  in_flight_.erase(key);
  deps_.metrics.calls
      .Add({{"operation", OperationOf(kind)}, {"code", std::string(CodeName(status.code()))}})
      .Increment();
  Duration wait{0};
  if (status.ok()) {
    backoff_.Reset(key);
    failures_.erase(key);
    sent_[key] = {.what = call.what, .at = deps_.env.clock.Now()};
  } else {
    wait = OnFailed(key, call, status);
    if (IsRefusedForGood(kind, status))
      sent_[key] = {.what = call.what, .at = deps_.env.clock.Now(), .refused = true};
  }
  if (deps_.known.Pod(key) == nullptr) return ForgetSent(key);
  if (!status.ok() && kind == Kind::kSync && !sync_due_.contains(key))
    MakeSyncDue(key, call.traceparent);
  if (again_.erase(key) > 0 || !status.ok()) queue_.Add(key, wait);
}

Duration GrantSender::OnFailed(const std::string& key, const Call& call, const Status& status) {
  const Duration wait = backoff_.Next(key, &random_);
  Failures& failures = failures_[key];
  if (failures.code != status.code()) failures = {.code = status.code()};
  ++failures.times;
  const bool race = IsRace(status);
  const bool warn = failures.times == (race ? kRacesNotLogged + 1 : 1);
  if (race || warn)
    deps_.env.log.At(
        warn ? LogLevel::kWarn : LogLevel::kDebug, "call to pod-worker failed, will retry",
        {KV("podUID", key), KV("operation", OperationOf(call.what.kind)), KV("err", status),
         KV("retryInMs", wait / 1ms), KV(kTraceIdField, TraceIdOf(call.traceparent))});
  return wait;
}

std::string GrantSender::NewRequestId(const std::string& key) {
  return fmt::format("sync-loop/{}/{}/{}", started_.monotonic.count(), ++last_request_, key);
}

}  // namespace splitlet::sync_loop
