#pragma once

/// Fields of a KubeletConfiguration that only node-api reads: two handlers, and fields that only
/// /configz shows.
/// Threads: any; pure.
/// Errors:  INVALID_ARGUMENT for a text that is not YAML. KubeletConfig::Load checks the rest.
/// Source:  docs/behaviour/node-api.md, "configz".

#include <cstdint>
#include <string>

#include "libs/base/status.h"
#include "libs/config/memory_qos.h"
#include "libs/config/volume_stats.h"

namespace splitlet::node_api {

/// A kubelet's defaults.
struct FileFields {
  bool profiling_handler = true, debug_flags_handler = true;
  std::string hairpin_mode = "promiscuous-bridge";
  int64_t masquerade_bit = 14, drop_bit = 15;
  std::string container_log_max_size = "10Mi";
  bool merge_default_eviction = false;
  Duration volume_stats_period = config::kVolumeStatsPeriod;
  config::MemoryQos memory_qos;
};
/// An empty `content` gives the defaults.
StatusOr<FileFields> ReadFileFields(const std::string& content);

}  // namespace splitlet::node_api
