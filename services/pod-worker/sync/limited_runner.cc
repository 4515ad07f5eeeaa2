#include "services/pod-worker/sync/limited_runner.h"

namespace splitlet::pod_worker {

StatusOr<cri::SandboxId> LimitedRunner::RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                                      const std::string& handler,
                                                      Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, sandboxes_.Acquire(deadline), "wait for a turn");
  auto id = runner_.RunPodSandbox(config, handler, deadline);
  if (!id.ok()) permit.Failed();
  return id;
}

Status LimitedRunner::StopPodSandbox(const cri::SandboxId& id, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, sandbox_stops_.Acquire(deadline), "wait for a turn");
  const Status stopped = runner_.StopPodSandbox(id, deadline);
  if (!stopped.ok()) permit.Failed();
  return stopped;
}

StatusOr<cri::ContainerId> LimitedRunner::CreateContainer(
    const cri::SandboxId& sandbox, const runtime::v1::ContainerConfig& config,
    const runtime::v1::PodSandboxConfig& sandbox_config, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, creates_.Acquire(deadline), "wait for a turn");
  auto id = runner_.CreateContainer(sandbox, config, sandbox_config, deadline);
  if (!id.ok()) permit.Failed();
  return id;
}

Status LimitedRunner::StartContainer(const cri::ContainerId& id, Deadline deadline) {
  ASSIGN_OR_RETURN(auto permit, starts_.Acquire(deadline), "wait for a turn");
  const Status started = runner_.StartContainer(id, deadline);
  if (!started.ok()) permit.Failed();
  return started;
}

Status LimitedRunner::StopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                                    Deadline deadline) {
  return runner_.StopContainer(id, grace_seconds, std::move(deadline));
}

}  // namespace splitlet::pod_worker
