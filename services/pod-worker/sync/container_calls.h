#pragma once

/// The calls that make, start and remove the containers of one sandbox.
/// In:      ContainerStarter, SyncPass.
/// Owns:    nothing.
/// Out:     CreateContainer, StartContainer, RemoveContainer.
/// Killed:  the next sync finds a made container by name and attempt number.
/// Threads: that of the sync; each call blocks.
/// Errors:  the runtime's; CANCELLED when the pod is ending.
/// Source:  docs/behaviour/pod-sync.md, "Steps"; docs/safety.md, rule 17.

#include <string>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "services/pod-worker/sync/start_context.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace runtime::v1 {
class ContainerConfig;
}

namespace splitlet::pod_worker {

/// OK if it is gone.
Status RemoveContainer(cri::Remover& remover, const cri::ContainerId& id, Deadline deadline);

class ContainerCalls {
 public:
  ContainerCalls(const StartContext& context, SyncOutcome& out) : context_(context), out_(out) {}

  StatusOr<cri::ContainerId> Create(const runtime::v1::ContainerConfig& config,
                                    const std::string& hash);
  Status Start(const cri::ContainerId& id);
  Status Remove(const cri::ContainerId& id) {
    return RemoveContainer(context_.deps.remover, id, context_.Soon());
  }
  /// A runtime that stops a sandbox kills its containers one after the other and the sandbox last;
  /// until then nothing but the exits shows it.
  bool SandboxDied() const;

 private:
  StatusOr<cri::ContainerId> FindCreated(const runtime::v1::ContainerConfig& config,
                                         const std::string& hash);

  const StartContext& context_;
  SyncOutcome& out_;
};

}  // namespace splitlet::pod_worker
