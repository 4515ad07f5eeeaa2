#include "services/pod-worker/sync/container_calls.h"

#include <utility>

#include "libs/base/fail_point.h"
#include "runtime/v1/api.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

Status RemoveContainer(cri::Remover& remover, const cri::ContainerId& id, Deadline deadline) {
  FAIL_POINT("pod-worker.remove-container.before");
  const Status removed = remover.RemoveContainer(id, std::move(deadline));
  FAIL_POINT("pod-worker.remove-container.after");
  return removed.code() == StatusCode::kNotFound ? OkStatus() : removed;
}

StatusOr<cri::ContainerId> ContainerCalls::Create(const runtime::v1::ContainerConfig& config,
                                                  const std::string& hash) {
  if (context_.Ending()) return Cancelled("the pod is ending");
  FAIL_POINT("pod-worker.create-container.before");
  out_.acted = true;
  auto id =
      context_.deps.runner.CreateContainer(cri::SandboxId(context_.sandbox_id), config,
                                           context_.sandbox_config, context_.SoonUnlessEnding());
  FAIL_POINT("pod-worker.create-container.after");
  if (id.status().code() != StatusCode::kAlreadyExists) return id;
  return FindCreated(config, hash);
}

/// A call whose answer was lost has taken the name. Never a higher number: that would be a restart
/// that did not happen.
StatusOr<cri::ContainerId> ContainerCalls::FindCreated(const runtime::v1::ContainerConfig& config,
                                                       const std::string& hash) {
  ASSIGN_OR_RETURN(const auto seen,
                   context_.deps.observer.Observe(context_.pod.metadata().uid(), context_.Soon()),
                   "find the container");
  for (const auto& record : seen.containers()) {
    const bool same = record.name() == config.metadata().name() &&
                      record.attempt() == config.metadata().attempt();
    if (same && record.hash() == hash && record.state() == v1::ContainerRecord::CREATED)
      return cri::ContainerId(record.id());
  }
  return Aborted("the name of the container is still reserved");
}

Status ContainerCalls::Start(const cri::ContainerId& id) {
  if (context_.Ending()) return Cancelled("the pod is ending");
  FAIL_POINT("pod-worker.start-container.before");
  out_.acted = true;
  const Status started = context_.deps.runner.StartContainer(id, context_.SoonUnlessEnding());
  FAIL_POINT("pod-worker.start-container.after");
  return started;
}

bool ContainerCalls::SandboxDied() const {
  const auto sandbox =
      context_.deps.reader.PodSandboxStatus(cri::SandboxId(context_.sandbox_id), context_.Soon());
  if (!sandbox.ok()) return sandbox.status().code() == StatusCode::kNotFound;
  return sandbox->state != cri::SandboxState::kReady;
}

}  // namespace splitlet::pod_worker
