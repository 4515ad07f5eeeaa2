#pragma once

/// A reboot of a local stack with a private containerd, as near as one machine comes to it: every
/// process and every container is killed at once, what lies on tmpfs on a real node goes, and the
/// processes start with another boot id. Called by LocalFaults.
/// Threads: one; the call blocks until runit has started everything again.
/// Errors: of the steps.

#include <string>

#include "chaos/node/local_paths.h"
#include "libs/base/status.h"
#include "libs/operate/supervisor.h"

namespace splitlet::chaos {

Status Reboot(const LocalPaths& paths, operate::Supervisor& supervisor);

}  // namespace splitlet::chaos
