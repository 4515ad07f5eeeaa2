#include "services/pod-worker/sync/limited_runner.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "libs/cri/grpc_runtime.h"

namespace splitlet::pod_worker {
namespace {

using namespace std::chrono_literals;

constexpr size_t kRunSandbox = 0, kCreate = 1, kStart = 2;  // of starts_
constexpr size_t kStopSandbox = 0, kStop = 1;               // of ends_

exec::LimitOptions With(std::vector<exec::CallKind> kinds, exec::LimitOptions each) {
  each.kinds = std::move(kinds);
  return each;
}

}  // namespace

LimitedRunner::LimitedRunner(Deps deps, const exec::LimitOptions& each)
    : deps_(deps),
      starts_(deps.clock, deps.loop, With({{}, {.head_start = 10s}, {.head_start = 20s}}, each)),
      ends_(deps.clock, deps.loop, With({{}, {.waits = true}}, each)) {}

StatusOr<cri::SandboxId> LimitedRunner::RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                                      const std::string& handler,
                                                      Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, starts_.Acquire(kRunSandbox, deadline), "wait for a turn");
  auto id = deps_.runner.RunPodSandbox(config, handler, deadline);
  if (!id.ok()) permit.Failed();
  return id;
}

Status LimitedRunner::StopPodSandbox(const cri::SandboxId& id, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, ends_.Acquire(kStopSandbox, deadline), "wait for a turn");
  const Status stopped = deps_.runner.StopPodSandbox(id, deadline);
  if (!stopped.ok()) permit.Failed();
  return stopped;
}

StatusOr<cri::ContainerId> LimitedRunner::CreateContainer(
    const cri::SandboxId& sandbox, const runtime::v1::ContainerConfig& config,
    const runtime::v1::PodSandboxConfig& sandbox_config, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, starts_.Acquire(kCreate, deadline), "wait for a turn");
  auto id = deps_.runner.CreateContainer(sandbox, config, sandbox_config, deadline);
  if (!id.ok()) permit.Failed();
  return id;
}

Status LimitedRunner::StartContainer(const cri::ContainerId& id, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, starts_.Acquire(kStart, deadline), "wait for a turn");
  const Status started = deps_.runner.StartContainer(id, deadline);
  if (!started.ok()) permit.Failed();
  return started;
}

Status LimitedRunner::StopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                                    Deadline deadline) {
  ASSIGN_OR_RETURN(const auto permit, ends_.Acquire(kStop, deadline), "wait for a turn");
  return deps_.runner.StopContainer(id, grace_seconds, deadline);
}

void LimitedRunner::BeginStopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                                       Deadline deadline, Stopped done) {
  ends_.Begin(kStop, deadline,
              [this, id, grace_seconds, deadline, done = std::move(done),
               traceparent = cri::TraceScope::Current()](StatusOr<exec::Permit> permit) {
                if (!permit.ok()) return done(Annotate(permit.status(), "wait for a turn"));
                const cri::TraceScope trace(traceparent);
                auto held = std::make_shared<exec::Permit>(std::move(*permit));
                deps_.long_calls.BeginStopContainer(
                    id, grace_seconds, deadline,
                    [held, done](const Status& stopped) { done(stopped); });
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
