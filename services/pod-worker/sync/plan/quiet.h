#pragma once

/// How long a sandbox is left alone after a signal from outside has ended containers in it. A
/// program that stops a sandbox kills its containers one after the other, and the runtime shows the
/// stopped sandbox last.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md.

#include <optional>
#include <set>
#include <string>

#include "libs/base/clock.h"
#include "services/pod-worker/pod/restarts.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

struct QuietInput {
  const v1::ObservedPod& seen;
  const std::string& sandbox_id;
  const std::set<std::string>& replacing;  // stopped by this process, to be replaced
  const KilledSince& killed;               // as the last sync left it
  Clock::Time now;
};
struct Quiet {
  std::optional<Clock::Time> until;  // unset: something may be made now
  KilledSince killed;                // for the next sync
};
Quiet ComputeQuiet(const QuietInput& input);

}  // namespace splitlet::pod_worker
