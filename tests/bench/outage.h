#pragma once

/// Measures what a node keeps during an outage of its API server while its pods change, and how
/// soon the server has everything afterwards. Pods end and start again, become ready and unready,
/// and manifests are added and removed, so that statuses, events and mirror pods wait.
/// Threads: one, and one that answers probes.
/// Errors:  a pod that does not run before the outage ends the benchmark; what the server
///          lacks at the time limit is counted.

#include "libs/base/clock.h"

namespace splitlet::bench {

/// On a runtime that takes no time. `pods`: number of API pods, half of each sort.
void MeasureOutage(int pods, Duration away);

}  // namespace splitlet::bench
