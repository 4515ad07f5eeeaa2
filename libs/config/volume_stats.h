#pragma once

/// Period of the measurement of pods' volumes, which only gc needs.
/// Threads: a pure function, any.
/// Errors:  none: KubeletConfig::Load has checked the configuration.
/// Source:  docs/configuration.md.

#include "libs/base/clock.h"

namespace splitlet::config {

class ConfigReader;

inline constexpr Duration kVolumeStatsPeriod = std::chrono::minutes{1};

/// Zero counts as not set, as at a kubelet; below zero volumes are not measured.
Duration VolumeStatsPeriod(const ConfigReader& read);

}  // namespace splitlet::config
