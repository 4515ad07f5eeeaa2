#pragma once

/// How often a call of a heartbeat is tried in a round.
/// Threads: any; it blocks, so on strands.
/// Errors:  none.
/// Source:  docs/behaviour/node.md, "At the API server"; kubelet nodeStatusUpdateRetry, client-go
///          lease controller maxUpdateRetries.

#include <memory>

#include "libs/apiclient/waiting.h"
#include "libs/base/cancel.h"
#include "libs/base/status.h"

namespace splitlet::status {

struct HeartbeatRetry {
  const Clock& clock;
  apiclient::WaitUntil wait;
  std::shared_ptr<CancelToken> stop;

  /// After the `done`th try has failed with `status`: whether there is another in this round. When
  /// it is true the time has come. A server that has no room says when the next one is welcome, or
  /// is asked in the next round; one that is not there, or answers nothing but errors, is asked
  /// again at once and then ever later.
  bool WaitForNext(int done, const Status& status) const;
};

}  // namespace splitlet::status
