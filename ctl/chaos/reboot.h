#pragma once

/// A reboot of a local stack with a private containerd, as near as one machine comes to it: every
/// process and every container is killed at once, what lies on tmpfs on a real node goes, and the
/// processes start with another boot id.
/// Threads: one; the call blocks until runit has started everything again. Errors: of the steps.

#include <string>

#include "ctl/supervisor.h"
#include "libs/base/status.h"

namespace splitlet::chaos {

struct LocalPaths;

Status Reboot(const LocalPaths& paths, ctl::Supervisor& supervisor);

}  // namespace splitlet::chaos
