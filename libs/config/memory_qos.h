#pragma once

/// What the feature gate MemoryQoS turns on; it is off unless the file says otherwise. Apart from
/// KubeletConfig, since one process alone asks.
/// Threads: any; pure.
/// Errors:  INVALID_ARGUMENT for what is no YAML. The rest is checked by KubeletConfig::Load.
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

/// Of a KubeletConfiguration.
StatusOr<MemoryQos> ReadMemoryQos(const std::string& content);
MemoryQos ReadMemoryQos(const ConfigReader& read);

}  // namespace splitlet::config
