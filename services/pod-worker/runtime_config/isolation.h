#pragma once

/// What of a pod's isolation is decided neither by its manifest nor by the node alone: goes into
/// the configuration of its sandbox and of each of its containers.
/// Threads: values.
/// Errors:  none.

#include <cstdint>
#include <optional>
#include <set>

#include "services/pod-worker/pod/user_ids.h"

namespace splitlet::pod_worker {

struct Isolation {
  std::optional<UserIds> user_ids;       // of its user namespace; unset: the host's users
  bool recursive_read_only = false;      // the runtime handler can make mounts so
  std::set<int64_t> volume_groups = {};  // of its persistent volumes (VolumeSpec::group)
};

}  // namespace splitlet::pod_worker
