#pragma once

/// Decides whether a heartbeat call (node report, lease renewal) is repeated within one round.
/// Threads: any; WaitForNext blocks, so it runs on strands.
/// Errors:  none.
/// Source:  docs/behaviour/node.md, "At the API server"; kubelet nodeStatusUpdateRetry, client-go
///          lease controller maxUpdateRetries.

#include <memory>
#include <optional>

#include "libs/apiclient/waiting.h"
#include "libs/base/cancel.h"
#include "libs/base/status.h"

namespace splitlet::status {

/// Call `done` of a round has failed with `status`. The pause before the next call of the round; no
/// value: wait for the next round.
/// A server without room (RESOURCE_EXHAUSTED) is not called again in this round. A server that is
/// away or answers only errors is called again immediately, then after growing pauses.
std::optional<Duration> PauseAfter(int done, const Status& status);

struct HeartbeatRetry {
  const Clock& clock;
  apiclient::WaitUntil wait;
  std::shared_ptr<CancelToken> stop;

  /// Call `done` of this round has failed with `status`. True: call again now; the pause before the
  /// next call is over. False: wait for the next round.
  bool WaitForNext(int done, const Status& status) const;
};

}  // namespace splitlet::status
