#pragma once

/// The usage of a pod with one container, "app", for tests of eviction.

#include <cstdint>

#include "services/gc/protect/eviction/ranking.h"

namespace splitlet::gc {

inline constexpr int64_t kMi = 1 << 20, kGi = 1 << 30;

inline PodUsage Disk(int64_t layer, int64_t logs, int64_t volumes) {
  PodUsage usage;
  usage.has_disk = true;
  usage.containers["app"].layer.bytes = layer;
  usage.containers["app"].logs.bytes = logs;
  usage.volumes.bytes = volumes;
  return usage;
}

}  // namespace splitlet::gc
