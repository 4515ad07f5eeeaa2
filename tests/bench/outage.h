#pragma once

/// What a node keeps while its API server is away and its pods go on changing, and how soon the
/// server has all of it afterwards. Pods end and begin again, become ready and unready, and
/// manifests come and go, so that statuses, events and mirror pods wait.
/// Threads: one, and one that answers probes.
/// Errors:  a pod that does not run before the outage ends the benchmark; what the server does not
///          have in time is counted.

#include "libs/base/clock.h"

namespace splitlet::bench {

/// On a runtime that takes no time. `pods`: of the API server, half of each sort.
void MeasureOutage(int pods, Duration away);

}  // namespace splitlet::bench
