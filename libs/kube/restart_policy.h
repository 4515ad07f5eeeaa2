#pragma once

/// Whether a container restarts after its end: the policies of pod and container, and the
/// container's rules. pod-worker and status share this decision.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet ShouldContainerBeRestarted, podutil.ContainerShouldRestart.

#include <cstdint>
#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// The container's own policy if set, else the pod's. Points into one of them.
const std::string& RestartPolicyOf(const Pod& pod, const Container& container);

/// True if the first matching rule of the container restarts the whole pod.
bool RestartsAllAfterExit(const Container& container, int32_t exit_code);
/// True if a rule of some container restarts the whole pod.
bool MayRestartAll(const Pod& pod);

bool RestartsAfterExit(const Pod& pod, const Container& container, int32_t exit_code);

}  // namespace splitlet::kube
