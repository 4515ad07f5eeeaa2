#pragma once

/// The state of the runtime after an answer of pleg, and the time of the next question. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/safety.md, rule 24; docs/behaviour/node.md, "Conditions".

#include <optional>

#include "libs/base/status.h"
#include "libs/peers/peer_health.h"
#include "services/status/config.h"

namespace splitlet::status {

/// A pleg that has just started does not know the runtime: its last report stays. So it does while
/// pleg does not answer; pleg's own errors are always those of the last answer.
peers::RuntimeState AfterAnswer(const peers::RuntimeState& before,
                                const StatusOr<peers::PeerAnswer>& answer);

/// How far the runtime is known.
struct RuntimeProgress {
  bool was_ready = false;  // once since the start of this process
  bool features_known = false;
};
/// When pleg is asked again, besides the regular questions: pods and the node wait for the answer.
/// No value: the regular ones do. `age`: since the start of this process.
std::optional<Duration> AskPlegAgainAfter(const StatusConfig& config,
                                          const RuntimeProgress& progress, Duration age);

}  // namespace splitlet::status
