#pragma once

/// How soon the runtime is asked for its status again. Pure.
/// Threads: values.
/// Errors: none.
/// Source: docs/behaviour/node.md, "At the API server"; kubelet fastStatusUpdateOnce.

#include "libs/cri/cri.h"
#include "services/pleg/config.h"

namespace splitlet::pleg {

/// With its network.
bool IsReady(const cri::RuntimeReport& report);

/// After an answer. `was_ready`: once in the life of this process, which began `age` ago.
Duration StatusPeriod(const PlegConfig& config, bool was_ready, Duration age);

}  // namespace splitlet::pleg
