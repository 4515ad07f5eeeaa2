#include "services/pod-worker/sync/limited_runner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "libs/base/cancel.h"
#include "libs/cri/trace_scope.h"
#include "services/pod-worker/pod/grace.h"

namespace splitlet::pod_worker {
namespace {

using namespace std::chrono_literals;

/// A line moves on every few hundred milliseconds, whatever the containers do.
constexpr Duration kMostInLine = 5min;
/// No stop waits behind stops that came so much later, though they have less grace.
constexpr Duration kMostOvertaken = 10s;
/// A stop that takes so long waits for the container, even where the runtime has much to do.
constexpr Duration kWaitsLong = 3s;

/// The end stays where it was, but for the least that every container gets.
int64_t GraceAfter(Duration waited, int64_t grace_seconds) {
  const int64_t left =
      grace_seconds - std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  return std::max(left, std::min(grace_seconds, kMinGrace));
}

Deadline Uncancelled(const Deadline& deadline) { return {deadline.at}; }

exec::LimitOptions OfStops(exec::LimitOptions each) {
  each.waits = true;
  each.initial *= 2;
  each.slow_unmeasured = kWaitsLong;
  return each;
}

}  // namespace

LimitedRunner::LimitedRunner(Deps deps, const exec::LimitOptions& each)
    : deps_(deps),
      sandboxes_(deps.clock, deps.loop, each),
      creates_(deps.clock, deps.loop, each),
      starts_(deps.clock, deps.loop, each),
      sandbox_stops_(deps.clock, deps.loop, each),
      stops_(deps.clock, deps.loop, OfStops(each)) {}

StatusOr<cri::SandboxId> LimitedRunner::RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                                      const std::string& handler,
                                                      Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, sandboxes_.Acquire(deadline), "wait for a turn");
  auto id = deps_.runner.RunPodSandbox(config, handler, Uncancelled(deadline));
  if (!id.ok()) permit.Failed();
  return id;
}

Status LimitedRunner::StopPodSandbox(const cri::SandboxId& id, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, sandbox_stops_.Acquire(deadline), "wait for a turn");
  const Status stopped = deps_.runner.StopPodSandbox(id, deadline);
  if (!stopped.ok()) permit.Failed();
  return stopped;
}

StatusOr<cri::ContainerId> LimitedRunner::CreateContainer(
    const cri::SandboxId& sandbox, const runtime::v1::ContainerConfig& config,
    const runtime::v1::PodSandboxConfig& sandbox_config, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, creates_.Acquire(deadline), "wait for a turn");
  auto id = deps_.runner.CreateContainer(sandbox, config, sandbox_config, Uncancelled(deadline));
  if (!id.ok()) permit.Failed();
  return id;
}

Status LimitedRunner::StartContainer(const cri::ContainerId& id, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, starts_.Acquire(deadline), "wait for a turn");
  const Status started = deps_.runner.StartContainer(id, Uncancelled(deadline));
  if (!started.ok()) permit.Failed();
  return started;
}

Status LimitedRunner::StopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                                    Deadline deadline) {
  ASSIGN_OR_RETURN(const auto permit, stops_.Acquire(deadline), "wait for a turn");
  return deps_.runner.StopContainer(id, grace_seconds, deadline);
}

void LimitedRunner::BeginStopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                                       Deadline deadline, Stopped done) {
  const Clock::Time came = deps_.clock.Now();
  const Deadline in_line{came + kMostInLine, deadline.cancel};
  const Duration later = std::min<Duration>(std::chrono::seconds{grace_seconds}, kMostOvertaken);
  stops_.Begin(in_line, later,
               [this, id, grace_seconds, came, deadline, done = std::move(done),
                traceparent = cri::TraceScope::Current()](StatusOr<exec::Permit> permit) {
                 if (!permit.ok())
                   return done(Aborted("stop not sent: {}", Message(permit.status())));
                 if (deadline.cancel != nullptr && deadline.cancel->cancelled())
                   return done(Aborted("stop not sent: given up"));
                 const cri::TraceScope trace(traceparent);
                 const Duration waited = deps_.clock.Now() - came;
                 const int64_t left = GraceAfter(waited, grace_seconds);
                 const Deadline from_now{
                     deadline.at + waited - std::chrono::seconds{grace_seconds - left},
                     deadline.cancel};
                 const auto held = std::make_shared<exec::Permit>(std::move(*permit));
                 deps_.long_calls.BeginStopContainer(
                     id, left, from_now, [held, done](const Status& stopped) { done(stopped); });
               });
}

void LimitedRunner::BeginPullImage(const cri::PullOrder& order, Deadline deadline, Pulled done) {
  deps_.long_calls.BeginPullImage(order, std::move(deadline), std::move(done));
}

void LimitedRunner::BeginExecSync(const cri::ContainerId& id, const cri::ExecCommand& command,
                                  Deadline deadline, Executed done) {
  deps_.long_calls.BeginExecSync(id, command, std::move(deadline), std::move(done));
}

}  // namespace splitlet::pod_worker
