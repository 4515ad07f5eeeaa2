#pragma once

/// Interval of measuring pods' volumes, which only gc needs.
/// Threads: a pure function, any.
/// Errors:  none: KubeletConfig::Load has checked the configuration.
/// Source:  docs/configuration.md.

#include "libs/base/clock.h"

namespace splitlet::config {

class ConfigReader;

inline constexpr Duration kVolumeStatsPeriod = std::chrono::minutes{1};

/// Zero counts as not set, as in a kubelet; a negative value turns measuring off.
Duration VolumeStatsPeriod(const ConfigReader& read);

}  // namespace splitlet::config
