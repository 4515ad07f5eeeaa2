#pragma once

/// Ephemeral containers: those that are added to a running pod. Their fields are those of
/// containers, number for number, so that the code for containers serves both.
/// Threads: pure functions, any; nothing fails.
/// Source:  kubelet kuberuntime computePodActions, EphemeralContainersToStart.

#include <string>
#include <vector>

#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// In the order of the spec.
std::vector<Container> EphemeralContainersOf(const PodSpec& spec);

/// Whose processes it is to see; empty: no one's, or there is no such ephemeral container.
std::string TargetOf(const PodSpec& spec, const std::string& ephemeral);

}  // namespace splitlet::kube
