#pragma once

/// Imitates a reboot of a local stack with a private containerd: kills every process and every
/// container at the same time, removes what is on tmpfs on a real node, and starts the processes
/// with another boot id. Called by LocalFaults.
/// Threads: one; the call blocks until runit has started everything again.
/// Errors: of the steps.

#include <string>

#include "chaos/node/local_paths.h"
#include "libs/base/status.h"
#include "libs/operate/supervisor.h"

namespace splitlet::chaos {

Status Reboot(const LocalPaths& paths, operate::Supervisor& supervisor);

}  // namespace splitlet::chaos
