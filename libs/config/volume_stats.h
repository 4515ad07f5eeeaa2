#pragma once

/// How often the volumes of pods are measured, which only gc asks for.
/// Threads: a pure function, any.
/// Errors:  none: KubeletConfig::Load has refused what is no configuration.
/// Source:  docs/configuration.md.

#include <string>

#include "libs/base/clock.h"

namespace splitlet::config {

class ConfigReader;

inline constexpr Duration kVolumeStatsPeriod = std::chrono::minutes{1};

/// `content`: of a configuration that was loaded; empty: there is no file. Zero is not set, as at a
/// kubelet; below zero they are not measured.
Duration VolumeStatsPeriod(const std::string& content);
Duration VolumeStatsPeriod(const ConfigReader& read);

}  // namespace splitlet::config
