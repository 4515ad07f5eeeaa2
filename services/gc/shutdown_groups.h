#pragma once

/// The groups of priority in which pods end when the node shuts down, as the configuration sets
/// them.
/// Threads: pure.
/// Errors: none.
/// Units: seconds.
/// Source: docs/behaviour/node-shutdown.md, "Groups"; kubelet nodeshutdown migrateConfig.

#include <cstdint>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::gc {

/// Pods with at least this priority and less than the next group's. The first group also takes pods
/// with a lower priority.
struct ShutdownGroup {
  int32_t priority = 0;
  int64_t seconds = 0;
  bool operator==(const ShutdownGroup&) const = default;
};
using ShutdownGroups = std::vector<ShutdownGroup>;

/// From shutdownGracePeriod and shutdownGracePeriodCriticalPods. Empty when `total` is 0: gc does
/// not end pods before a shutdown.
ShutdownGroups PlainGroups(Duration total, Duration critical);
/// From shutdownGracePeriodByPodPriority, in any order. Empty when no group has any time.
ShutdownGroups SortedGroups(ShutdownGroups groups);

/// The time of all groups together.
int64_t TotalSeconds(const ShutdownGroups& groups);

}  // namespace splitlet::gc
