#pragma once

/// In which order the containers of a pod are stopped.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/termination.md; docs/safety.md, rule 19.

#include <vector>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/container_stop.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

/// Containers of a pod that is ended, in the order of their stop signals: those of one step side by
/// side, a step after the one before. Sidecars come after all others, last in the spec first, and
/// wait for no ephemeral container. `pod` may be null: all in one step.
std::vector<std::vector<ContainerStop>> StopOrder(const kube::Pod* pod,
                                                  const v1::ObservedPod& seen);

/// A container runs or may run, or a sandbox is ready and may get one at any moment.
bool MayUseVolumes(const v1::ObservedPod& seen);

}  // namespace splitlet::pod_worker
