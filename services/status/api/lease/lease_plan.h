#pragma once

/// When the lease of the node is renewed next, and what follows a failed renewal. Pure.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/node.md, "Lease"; kubelet nodelease controller.

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::status {

/// After an update of the lease that failed.
enum class AfterUpdate {
  kReadNewer,     // another client has changed it: read it, then update again
  kRepeat,        // update again
  kReadOrCreate,  // it was deleted: the round reads it, or creates it
};
AfterUpdate AfterFailedUpdate(const Status& status);

/// After all updates of a held lease have failed in a round: true if the server did not process
/// them. The lease is kept, and the next round updates it.
bool KeepsLease(const Status& status);

/// The wait after a round without a lease. `before`: the wait after the round before; 0: that round
/// had a lease, or there was none.
Duration WaitWithoutLease(Duration before);
/// The wait after a round with a lease, before jitter.
Duration RenewalPeriod(int32_t lease_duration_seconds);

}  // namespace splitlet::status
