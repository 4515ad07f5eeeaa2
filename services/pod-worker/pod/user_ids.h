#pragma once

/// The ids of a pod's user namespace on the host.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/runtime-config.md, "User namespaces".

#include <cstdint>

namespace splitlet::pod_worker {

/// The ids on the host of the ids of a namespace, from 0 on.
struct UserIds {
  uint32_t first = 0, length = 0;
  bool operator==(const UserIds&) const = default;
};

}  // namespace splitlet::pod_worker
