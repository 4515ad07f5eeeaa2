#pragma once

/// Which group of a shutdown a pod belongs to, and how long the pod may take.
/// Threads: pure.
/// Errors: none.
/// Units: seconds.
/// Source: docs/behaviour/node-shutdown.md, "Groups"; kubelet nodeshutdown
/// groupByPriority.

#include <cstddef>
#include <cstdint>

#include "libs/kube/pod_types.h"
#include "services/gc/shutdown_groups.h"

namespace splitlet::gc {

/// The pod's priority, or that of the name of its class: no admission controller resolves the class
/// of a static pod.
int32_t PriorityOf(const kube::Pod& pod);
/// Index of the group of a priority. `groups` must not be empty.
size_t GroupOf(const ShutdownGroups& groups, int32_t priority);

/// Grace period of a kill: the lesser of the group's time and the pod's own. Never below 1, because
/// 0 and less have other meanings in KillPod.
int64_t ShutdownGrace(const kube::Pod& pod, int64_t group_seconds);

}  // namespace splitlet::gc
