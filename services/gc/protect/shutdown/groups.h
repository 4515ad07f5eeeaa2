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

/// By the name of its class where no priority is given: nobody resolves that of a static pod.
int32_t PriorityOf(const kube::Pod& pod);
/// Index of the group of a priority; there is at least one.
size_t GroupOf(const ShutdownGroups& groups, int32_t priority);

/// Of a kill: what the group has at most, or the pod's own when it is less. Never below 1, which
/// would mean something else.
int64_t ShutdownGrace(const kube::Pod& pod, int64_t group_seconds);

}  // namespace splitlet::gc
