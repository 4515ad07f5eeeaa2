#pragma once

/// What the runtime's status says, and how soon it is asked for again. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/node.md, "At the API server"; kubelet fastStatusUpdateOnce.

#include "libs/cri/cri.h"
#include "services/pleg/config.h"

namespace splitlet::v1 {
class PlegHealth;
}

namespace splitlet::pleg {

/// With its network.
bool IsReady(const cri::RuntimeReport& report);

/// After an answer. `was_ready`: once in the life of this process, which began `age` ago.
Duration StatusPeriod(const PlegConfig& config, bool was_ready, Duration age);

/// Its conditions and features.
void AddReport(const cri::RuntimeReport& report, v1::PlegHealth& health);

}  // namespace splitlet::pleg
