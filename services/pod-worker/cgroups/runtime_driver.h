#pragma once

/// The kubelet configuration as it is in force on this node: the cgroup driver of the runtime goes
/// before that of the file.
/// In:      the process, before it makes anything.
/// Out:     RuntimeConfig; the file that keeps the answer.
/// Threads: the caller's; blocks on the runtime for at most five seconds.
/// Errors:  none; see ChooseDriver.
/// Source:  docs/behaviour/cgroups.md.

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::pod_worker {

config::KubeletConfig WithRuntimeDriver(daemon::ServiceContext& context);

}  // namespace splitlet::pod_worker
