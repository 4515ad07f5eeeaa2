#pragma once

/// Ephemeral containers, which are added to a running pod. Their fields have the numbers of a
/// container's fields, so that code for containers serves both.
/// Threads: pure functions, any; nothing fails.
/// Source:  kubelet kuberuntime computePodActions, EphemeralContainersToStart.

#include <string>
#include <vector>

#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// In the order of the spec.
std::vector<Container> EphemeralContainersOf(const PodSpec& spec);

/// Container whose processes it can see; empty: none, or not an ephemeral container.
std::string TargetOf(const PodSpec& spec, const std::string& ephemeral);

}  // namespace splitlet::kube
