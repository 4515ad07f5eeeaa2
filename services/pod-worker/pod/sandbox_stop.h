#pragma once

/// Stops one sandbox of a pod; the runtime kills what still runs in it.
/// Threads: any; the call blocks.
/// Errors:  the runtime's; a sandbox that is gone is OK.
/// Source:  docs/behaviour/termination.md, "Order of stops".

#include "libs/cri/cri.h"

namespace splitlet::pod_worker {

Status StopSandbox(cri::Runner& runner, const cri::SandboxId& id, Deadline deadline);

}  // namespace splitlet::pod_worker
