#pragma once

/// The runtime's answer to Status: when to ask again, and when the runtime is unhealthy. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/relist.md, "Health"; docs/behaviour/node.md, "At the API server"; kubelet
/// fastStatusUpdateOnce, kubelet runtimeState.

#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/cri/cri.h"
#include "services/pleg/config.h"

namespace splitlet::v1 {
class PlegHealth;
}

namespace splitlet::pleg {

/// The runtime and its network are ready.
bool IsReady(const cri::RuntimeReport& report);

/// After an answer. `was_ready`: once since this process started, which was `age` ago.
Duration StatusPeriod(const PlegConfig& config, bool was_ready, Duration age);

/// All that the health of the runtime follows from.
struct RuntimeSeen {
  Clock::Time now;
  std::optional<Clock::Time> answered_at;  // the last good answer to Status
  Clock::Time last_listing;                // when the last good one began; no time: there was none
  const cri::RuntimeReport& report;        // of the last good answer
};
/// The last good answer is too old. A runtime that never answered is not known to be down.
bool IsDown(const PlegConfig& config, Clock::Time now, std::optional<Clock::Time> answered_at);
/// The kubelet's texts; empty: the runtime is healthy.
std::vector<std::string> ErrorsOf(const PlegConfig& config, const RuntimeSeen& seen);

/// Writes conditions and features.
void AddReport(const cri::RuntimeReport& report, v1::PlegHealth& health);

}  // namespace splitlet::pleg
