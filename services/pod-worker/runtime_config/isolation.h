#pragma once

/// The part of a pod's isolation that depends on more than its manifest and the node. It goes into
/// the configuration of the sandbox and of each container.
/// Threads: values.
/// Errors:  none.

#include <cstdint>
#include <optional>
#include <set>

#include "services/pod-worker/pod/user_ids.h"

namespace splitlet::pod_worker {

struct Isolation {
  std::optional<UserIds> user_ids;       // of the user namespace; unset: the host's users
  bool recursive_read_only = false;      // the runtime handler supports such mounts
  std::set<int64_t> volume_groups = {};  // of persistent volumes (VolumeSpec::group)
};

}  // namespace splitlet::pod_worker
