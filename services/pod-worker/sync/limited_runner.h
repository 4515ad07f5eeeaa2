#pragma once

/// A Runner whose calls that are work for the runtime are let through by a limit per kind that
/// finds itself. A stop of a container is never held back: it waits for the container, and whoever
/// is to end has to be told at once.
/// Threads: any.
/// Errors:  those of the call, and DEADLINE_EXCEEDED or CANCELLED while waiting for a turn.
/// Source:  docs/design.md, "Threads and time".

#include "libs/cri/cri.h"
#include "libs/exec/limit.h"

namespace splitlet::pod_worker {

class LimitedRunner final : public cri::Runner {
 public:
  LimitedRunner(cri::Runner& runner, const Clock& clock, exec::LimitOptions each = {})
      : runner_(runner),
        sandboxes_(clock, each),
        creates_(clock, each),
        starts_(clock, each),
        sandbox_stops_(clock, each) {}

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
  exec::AdaptiveLimit sandboxes_, creates_, starts_, sandbox_stops_;
};

}  // namespace splitlet::pod_worker
