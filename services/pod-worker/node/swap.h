#pragma once

/// Swap of this machine, and what containers may take of it.
/// Threads: pure but for files, any.
/// Errors:  FAILED_PRECONDITION in a kubelet's words: the node must not start so.
/// Units:   bytes.
/// Source:  docs/behaviour/machine.md, "Swap"; docs/behaviour/resources.md.

#include <cstdint>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/fs/mounts.h"

namespace splitlet::pod_worker {

/// All swap that is on, from /proc/swaps; a machine without that file has none.
StatusOr<int64_t> ReadSwapBytes(fs::FileSystem& files);

/// A tmpfs stays in memory: the kernel knows how (Linux 6.4), or does it when it is tried in a
/// folder below `root_dir`. In a user namespace it may not be asked.
bool KeepsTmpfsOffSwap(fs::FileSystem& files, fs::Mounts& mounts, const std::string& root_dir);

struct SwapRules {
  bool fail_on_swap = false;
  std::string behavior;  // "", NoSwap or LimitedSwap
  bool cgroup_v2 = false;
};
Status CheckSwap(const SwapRules& rules, int64_t swap_bytes);

}  // namespace splitlet::pod_worker
