#pragma once

/// Settings of sync-loop, from the KubeletConfiguration and the flags.
/// Threads: immutable.
/// Errors: none; the file was checked when it was read.
/// Source: docs/behaviour/configuration.md, "Reading the file".

#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::config {
class KubeletConfig;
}
namespace splitlet::daemon {
struct Flags;
}

namespace splitlet::sync_loop {

struct SyncLoopConfig {
  std::string node_name;
  std::string node_annotation;  // splitlet.dev/node of this node's sandboxes
  std::string admissions_dir;   // <run>/sync-loop/admission
  std::string kernel_release;   // of uname
  std::vector<std::string> allowed_unsafe_sysctls;
  int64_t max_pods = 110;
  bool pod_resources = true;  // the feature gate PodLevelResources
  bool kill_unmanaged_pods = false;
  bool offline_start = false;  // API pods may start before the server has the node
  uint64_t seed = 1;           // of jitter
};

SyncLoopConfig MakeSyncLoopConfig(const daemon::Flags& flags, const config::KubeletConfig& kubelet,
                                  const std::string& state_id);

}  // namespace splitlet::sync_loop
