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

}  // namespace splitlet::gc
