#pragma once

/// The runtime's answer to Status, and when to ask again. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/node.md, "At the API server"; kubelet fastStatusUpdateOnce.

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

/// Writes conditions and features.
void AddReport(const cri::RuntimeReport& report, v1::PlegHealth& health);

}  // namespace splitlet::pleg
