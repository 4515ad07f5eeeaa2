#include "services/pod-worker/hooks/hook_runner.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/cri/trace_scope.h"

namespace splitlet::pod_worker {

namespace {

Status MayBegin() {
  FAIL_POINT("pod-worker.run-hook.before");
  return OkStatus();
}

/// The hook was given up or its time is over, which is not the hook's own failure.
bool IsOurs(const Status& status) {
  return status.code() == StatusCode::kCancelled || status.code() == StatusCode::kDeadlineExceeded;
}

Status Failed(const HookCall& call, const Status& status, const std::string& output = {}) {
  return status.ok() || IsOurs(status)
             ? status
             : MakeStatus(StatusCode::kUnknown, "{}", HookMessage(call, status, output));
}

}  // namespace

void HookRunner::Begin(Run run, Done done) {
  CHECK(deps_.env.loop.IsCurrent() && run.deadline.cancel != nullptr);
  if (stopping_) return;
  const uint64_t id = ++last_;
  under_way_[id] = {run.deadline.cancel, std::move(done)};
  if (!run.call.error.ok()) return PostEnd(id, Failed(run.call, run.call.error));
  if (run.call.kind == HookCall::Kind::kSleep) return Sleep(id, run);
  exec::RunSlots& slots = run.call.kind == HookCall::Kind::kExec ? commands_ : requests_;
  const bool waits = slots.Enter(false, [this, id, run, &slots] {
    under_way_[id].slots = &slots;
    BeginOnStrand(id, run);
  });
  if (!waits)
    PostEnd(id, Failed(run.call, ResourceExhausted("too many hooks wait for a slot to run")));
}

void HookRunner::BeginOnStrand(uint64_t id, const Run& run) {
  deps_.env.strands.Run("hook/" + std::to_string(id), [this, id, run] {
    const cri::TraceScope trace(run.traceparent);
    if (const Status may = MayBegin(); !may.ok()) return PostEnd(id, Failed(run.call, may));
    run.call.kind == HookCall::Kind::kExec ? Exec(id, run) : Get(id, run);
  });
}

void HookRunner::Exec(uint64_t id, const Run& run) {
  deps_.long_calls.BeginExecSync(
      cri::ContainerId(run.container_id), {.words = run.call.command}, run.deadline,
      [this, id, call = run.call](const StatusOr<cri::ExecResult>& result) {
        if (!result.ok()) return PostEnd(id, Failed(call, result.status()));
        const Status outcome = ExecOutcome(call.command, result->exit_code, result->err);
        PostEnd(id, Failed(call, outcome, result->out + result->err));
      });
}

/// Any answer of the server is a success.
void HookRunner::Get(uint64_t id, const Run& run) {
  deps_.http.Begin(run.call.request, run.deadline, [this, id, run](const http::Outcome& outcome) {
    if (outcome.status.code() == StatusCode::kUnimplemented)
      return GetInTheClear(id, run, outcome.status);
    PostEnd(id, Failed(run.call, outcome.status));
  });
}

/// For a server that does not speak TLS: the same request without TLS and without secrets.
void HookRunner::GetInTheClear(uint64_t id, const Run& run, const Status& refused) {
  http::Exchange plain = run.call.request;
  plain.url.replace(0, std::string_view("https").size(), "http");
  std::erase_if(plain.headers, [](std::string header) {
    std::ranges::transform(header, header.begin(), [](unsigned char c) { return std::tolower(c); });
    return header.starts_with("authorization");
  });
  deps_.http.Begin(std::move(plain), run.deadline,
                   [this, id, run, refused](const http::Outcome& outcome) {
                     if (outcome.status.ok()) deps_.metrics.hook_http_fallbacks.Increment();
                     PostEnd(id, Failed(run.call, outcome.status.ok() ? OkStatus() : refused));
                   });
}

void HookRunner::Sleep(uint64_t id, const Run& run) {
  UnderWay& hook = under_way_[id];
  const Duration left = std::max(run.deadline.at - deps_.env.clock.Now(), Duration{0});
  const bool in_time = run.call.sleep <= left;
  hook.timer = deps_.env.loop.RunAfter(std::min(run.call.sleep, left), [this, id, in_time] {
    if (!in_time) deps_.metrics.hook_sleeps_cut.Increment();
    End(id, in_time ? OkStatus() : DeadlineExceeded("the time to stop is over"));
  });
  hook.cancel_id = hook.cancel->Add([this, id] {
    deps_.metrics.hook_sleeps_cut.Increment();
    PostEnd(id, Cancelled("container terminated before sleep hook finished"));
  });
}

void HookRunner::PostEnd(uint64_t id, Status status) {
  FAIL_POINT_VOID("pod-worker.run-hook.after");
  deps_.env.loop.Post([this, id, status = std::move(status)] { End(id, status); });
}

void HookRunner::End(uint64_t id, const Status& status) {
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return;
  const UnderWay hook = std::move(found->second);
  under_way_.erase(found);
  if (hook.timer != 0) deps_.env.loop.CancelTimer(hook.timer);
  if (hook.cancel_id != 0) hook.cancel->Remove(hook.cancel_id);
  if (hook.slots != nullptr) hook.slots->Leave(false);
  if (!stopping_) hook.done(status);
}

void HookRunner::BeginStop() {
  stopping_ = true;
  requests_.Close();
  commands_.Close();
  std::map<uint64_t, std::shared_ptr<CancelToken>> tokens;
  for (const auto& [id, hook] : under_way_) tokens[id] = hook.cancel;
  for (const auto& [id, token] : tokens) token->Cancel();
}

}  // namespace splitlet::pod_worker
