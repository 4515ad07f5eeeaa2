#pragma once

/// Whether a container runs again after it has ended: the policies of pod and container, and the
/// container's rules. pod-worker acts by it, status reports by it.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet ShouldContainerBeRestarted, podutil.ContainerShouldRestart.

#include <cstdint>
#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// The container's own policy when it is set, else the pod's. Points into one of them.
const std::string& RestartPolicyOf(const Pod& pod, const Container& container);

/// Whether it takes the whole pod along: the first of its rules that matches says so.
bool RestartsAllAfterExit(const Container& container, int32_t exit_code);
/// Whether some container of the pod could.
bool MayRestartAll(const Pod& pod);

bool RestartsAfterExit(const Pod& pod, const Container& container, int32_t exit_code);

}  // namespace splitlet::kube
