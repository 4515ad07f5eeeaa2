#pragma once

/// Settings of the feature gate MemoryQoS, which is off by default. They are not in KubeletConfig,
/// because only one process needs them.
/// Threads: any; pure.
/// Errors:  INVALID_ARGUMENT: the text is not YAML. KubeletConfig::Load checks the rest.
/// Source:  docs/behaviour/cgroups.md, "Memory that is kept"; kubelet feature gate MemoryQoS.

#include <string>

#include "libs/base/status.h"

namespace splitlet::config {

class ConfigReader;

struct MemoryQos {
  bool enabled = false;            // featureGates.MemoryQoS
  double throttling_factor = 0.9;  // memoryThrottlingFactor
  bool tiered = false;             // memoryReservationPolicy: TieredReservation, not None
  bool operator==(const MemoryQos&) const = default;
};

/// Parses a KubeletConfiguration.
StatusOr<MemoryQos> ReadMemoryQos(const std::string& content);
MemoryQos ReadMemoryQos(const ConfigReader& read);

}  // namespace splitlet::config
