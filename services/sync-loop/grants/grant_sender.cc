#include "services/sync-loop/grants/grant_sender.h"

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/trace.h"

namespace splitlet::sync_loop {
namespace {

using Kind = NextCall::Kind;

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

Status UpdatePod(WorkerClient& client, const OutgoingCall& call, const Deadline& deadline) {
  FAIL_POINT("sync-loop.update-pod.before");
  RETURN_IF_ERROR(client.UpdatePod(call.update, deadline, call.traceparent), "UpdatePod");
  FAIL_POINT("sync-loop.update-pod.after");
  return OkStatus();
}

Status KillPod(WorkerClient& client, const OutgoingCall& call, const Deadline& deadline) {
  FAIL_POINT("sync-loop.kill-pod.before");
  RETURN_IF_ERROR(client.KillPod(call.kill, deadline, call.traceparent), "KillPod");
  FAIL_POINT("sync-loop.kill-pod.after");
  return OkStatus();
}

}  // namespace

WorkerCalls::WorkerCalls(const Deps& deps, Hooks hooks)
    : deps_(deps),
      hooks_(std::move(hooks)),
      backoff_(deps.clock, {.initial = 100ms, .max = 5s, .jitter = 0.5}),
      queue_(deps.loop, deps.clock, [this](const std::string& key) { Work(key); }) {}

void WorkerCalls::Check(const std::string& key) { queue_.Add(key, backoff_.Remaining(key)); }

void WorkerCalls::Forget(const std::string& key) {
  queue_.Remove(key);
  sent_.erase(key);
  told_.erase(key);
  again_.erase(key);
  backoff_.Reset(key);
}

bool WorkerCalls::MayBeGranted(const std::string& key) const {
  if (in_flight_.contains(key)) return true;
  const auto sent = sent_.find(key);
  return sent != sent_.end() && sent->second.what.kind == Kind::kCreate &&
         deps_.clock.Now() - sent->second.at < kEcho;
}

void WorkerCalls::Work(const std::string& key) {
  if (in_flight_.contains(key)) {
    again_.insert(key);
    return;
  }
  const NextCall what = hooks_.compare(key);
  if (what.kind == Kind::kNone) return;
  const auto sent = sent_.find(key);
  if (sent != sent_.end() && what.kind != Kind::kSync && sent->second.what == what) {
    const Duration age = deps_.clock.Now() - sent->second.at;
    if (age < kEcho) {
      queue_.Add(key, kEcho - age);
      return;
    }
  }
  if (auto call = hooks_.build(key, what)) Send(key, std::move(*call));
}

void WorkerCalls::Send(const std::string& key, OutgoingCall call) {
  in_flight_.insert(key);
  auto shared = std::make_shared<const OutgoingCall>(std::move(call));
  deps_.strands.Run(
      "call/" + key, [this, key, shared, deadline = After(deps_.clock, kCallTimeout)] {
        const Status status = shared->what.kind == Kind::kKill
                                  ? KillPod(deps_.client, *shared, deadline)
                                  : UpdatePod(deps_.client, *shared, deadline);
        deps_.loop.Post([this, key, shared, status] { OnAnswered(key, *shared, status); });
      });
}

void WorkerCalls::OnAnswered(const std::string& key, const OutgoingCall& call,
                             const Status& status) {
  const NextCall& what = call.what;
  in_flight_.erase(key);
  deps_.metrics.calls
      .Add({{"operation", OperationOf(what.kind)}, {"code", std::string(CodeName(status.code()))}})
      .Increment();
  Duration wait{0};
  if (status.ok()) {
    backoff_.Reset(key);
    told_.erase(key);
    sent_[key] = {what, deps_.clock.Now()};
  } else {
    wait = backoff_.Next(key, &deps_.random);
    const auto told = told_.find(key);
    if (told == told_.end() || told->second != status.code()) {
      told_[key] = status.code();
      deps_.log.Warn("pod-worker did not take a call",
                     {KV("podUID", key), KV("operation", OperationOf(what.kind)), KV("err", status),
                      KV("retryInMs", wait / 1ms), KV(kTraceIdField, TraceIdOf(call.traceparent))});
    }
  }
  if (!hooks_.answered(key, call, status)) return Forget(key);
  if (again_.erase(key) > 0 || !status.ok()) queue_.Add(key, wait);
}

}  // namespace splitlet::sync_loop
