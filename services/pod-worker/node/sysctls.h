#pragma once

/// Settings of the kernel that a node relies on: one that runs out of memory kills and does not
/// stop, a kernel that panics restarts, and keys for the containers of many pods.
/// Threads: any; blocks on files of the kernel.
/// Errors:  FAILED_PRECONDITION naming each setting that is otherwise, or cannot be read or set.
/// Source:  docs/behaviour/machine.md, "Sysctls"; kubelet setupKernelTunables.

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/fs/write_in_place.h"

namespace splitlet::pod_worker {

enum class SysctlRule {
  kSet,    // what is otherwise is set
  kCheck,  // protectKernelDefaults: what is otherwise is an error
};
Status EnsureSysctls(fs::FileSystem& files, const fs::InPlaceWriter& write, SysctlRule rule);

}  // namespace splitlet::pod_worker
