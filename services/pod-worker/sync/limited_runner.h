#pragma once

/// A Runner whose creating calls are let through by a limit per kind that finds itself; stops are
/// never held back.
/// Threads: any.
/// Errors:  those of the call, and DEADLINE_EXCEEDED or CANCELLED while waiting for a turn.
/// Source:  docs/design.md, "Threads and time".

#include "libs/cri/cri.h"
#include "libs/exec/limit.h"

namespace splitlet::pod_worker {

class LimitedRunner final : public cri::Runner {
 public:
  LimitedRunner(cri::Runner& runner, const Clock& clock)
      : runner_(runner), sandboxes_(clock, {}), creates_(clock, {}), starts_(clock, {}) {}

  StatusOr<cri::SandboxId> RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                         const std::string& handler, Deadline deadline) override;
  Status StopPodSandbox(const cri::SandboxId& id, Deadline deadline) override;
  StatusOr<cri::ContainerId> CreateContainer(const cri::SandboxId& sandbox,
                                             const runtime::v1::ContainerConfig& config,
                                             const runtime::v1::PodSandboxConfig& sandbox_config,
                                             Deadline deadline) override;
  Status StartContainer(const cri::ContainerId& id, Deadline deadline) override;
  Status StopContainer(const cri::ContainerId& id, int64_t grace_seconds,
                       Deadline deadline) override;

 private:
  cri::Runner& runner_;
  exec::AdaptiveLimit sandboxes_, creates_, starts_;
};

}  // namespace splitlet::pod_worker
