#pragma once

/// The configuration of gc, from flags and KubeletConfiguration.
/// Threads: values.
/// Errors: INVALID_ARGUMENT that names the key.
/// Source: docs/behaviour/garbage-collection.md; docs/behaviour/configuration.md, "Reading the
/// file".

#include <cstdint>
#include <map>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/gc/shutdown_groups.h"

namespace splitlet::config {
class KubeletConfig;
}
namespace splitlet::daemon {
struct Flags;
}

namespace splitlet::gc {

inline constexpr Duration kRemovalPeriod = std::chrono::minutes{1};
inline constexpr Duration kImagePeriod = std::chrono::minutes{5};
inline constexpr Duration kPressurePeriod = std::chrono::seconds{10};
/// A hold lasts 60 s. No removal starts later than this after the hold was taken.
inline constexpr Duration kHoldUse = std::chrono::seconds{50};
/// A source that is unavailable for longer no longer delays the removal of images.
inline constexpr Duration kSourcePatience = std::chrono::minutes{5};

struct GcConfig {
  std::string node_name;
  std::string state_id;       // first part of the annotation splitlet.dev/node of our sandboxes
  std::string pods_dir;       // <state>/pods: marks of pods, see libs/node/pod_place.h
  std::string pod_logs_dir;   // /var/log/pods
  std::string links_dir;      // /var/log/containers
  std::string records_dir;    // <run>/gc/facts: pressure of this boot
  std::string evictions_dir;  // <run>/gc/victims: pending evictions
  std::string root_dir;       // its file system is nodefs
  Duration call_limit = std::chrono::minutes{2};

  Duration min_age{0};
  int32_t max_per_container = 1;  // negative: no limit
  int32_t max_total = -1;         // negative: no limit
  bool kill_unmanaged_pods = false;

  Duration image_min_age = std::chrono::minutes{2};
  Duration image_max_age{0};  // 0: none
  int32_t image_high_percent = 85, image_low_percent = 80;
  std::string sandbox_image;  // needed where the runtime neither names nor pins it

  int64_t log_max_bytes = 10 << 20;  // not above 0: logs are not rotated
  int32_t log_max_files = 5;         // with the live file
  Duration log_period = std::chrono::seconds{10};
  int32_t log_workers = 1;

  Duration pressure_transition = std::chrono::minutes{5};
  std::map<std::string, std::string> eviction_hard;  // signal -> quantity or percentage
  std::map<std::string, std::string> eviction_soft, eviction_minimum_reclaim;  // as eviction_hard
  std::map<std::string, Duration> eviction_soft_grace;
  int64_t eviction_max_grace_seconds = 0;  // of a pod that is evicted for a soft threshold
  bool local_storage_limits = true;
  bool evict_static_pods = false;

  Duration volume_stats_period = std::chrono::minutes{1};  // not above 0: volumes are not measured

  std::string shutdown_dir;        // <run>/gc/shutdown: progress of a node shutdown
  ShutdownGroups shutdown_groups;  // empty: gc does not end pods before a shutdown

  std::string pods_cgroup;  // "/kubepods", the cgroup of all pods; empty: no memory limit
};

/// `state_id`: of the state directory, see libs/fs/state_id.h.
StatusOr<GcConfig> LoadGcConfig(const config::KubeletConfig& file, const daemon::Flags& flags,
                                const std::string& state_id);

}  // namespace splitlet::gc
