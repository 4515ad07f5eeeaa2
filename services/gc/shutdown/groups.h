#pragma once

/// In which order pods end when the node shuts down, and how long each may take.
/// Threads: pure.
/// Errors: none.
/// Units: seconds.
/// Source: docs/behaviour/node-shutdown.md, "Groups"; kubelet nodeshutdown migrateConfig,
/// groupByPriority.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"

namespace splitlet::gc {

/// Pods of at least this priority, up to the next group's; the first takes those below it too.
struct ShutdownGroup {
  int32_t priority = 0;
  int64_t seconds = 0;
  bool operator==(const ShutdownGroup&) const = default;
};
using ShutdownGroups = std::vector<ShutdownGroup>;

/// Of the two plain settings. Nothing when `total` is 0: pods do not end with the node.
ShutdownGroups PlainGroups(Duration total, Duration critical);
/// Of the list in the settings, in whatever order it is. Nothing when no group has any time.
ShutdownGroups SortedGroups(ShutdownGroups groups);

/// What all groups may take together.
int64_t TotalSeconds(const ShutdownGroups& groups);

/// By the name of its class where no priority is given: nobody resolves that of a static pod.
int32_t PriorityOf(const kube::Pod& pod);
/// Index of the group of a priority; there is at least one.
size_t GroupOf(const ShutdownGroups& groups, int32_t priority);

/// Of a kill: what the group has at most, or the pod's own when it is less. Never below 1, which
/// would mean something else.
int64_t ShutdownGrace(const kube::Pod& pod, int64_t group_seconds);

}  // namespace splitlet::gc
