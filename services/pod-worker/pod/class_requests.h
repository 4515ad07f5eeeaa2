#pragma once

/// The requests of pods that go into the cgroups of their QoS classes.
/// Threads: values and pure functions, any.
/// Errors:  none; a pod whose quantities do not parse adds nothing.
/// Source:  docs/behaviour/cgroups.md, "Limits".

#include <cstdint>

#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// The requests that a pod adds to the cgroups above its own; also the sum over pods.
struct ClassRequests {
  int64_t burstable_millicores = 0;
  int64_t burstable_memory_bytes = 0, guaranteed_memory_bytes = 0;
  ClassRequests& operator+=(const ClassRequests& other);
  bool operator==(const ClassRequests&) const = default;
};
ClassRequests ClassRequestsOf(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
