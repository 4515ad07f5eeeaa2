#pragma once

/// Names of log levels in flags, calls and metrics, and a kubelet's verbosity.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/logs-and-metrics.md.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "libs/base/log.h"

namespace splitlet {

inline constexpr auto kLogLevels =
    std::to_array<std::pair<LogLevel, std::string_view>>({{LogLevel::kDebug, "debug"},
                                                          {LogLevel::kInfo, "info"},
                                                          {LogLevel::kWarn, "warn"},
                                                          {LogLevel::kError, "error"}});

constexpr std::string_view NameOf(LogLevel level) {
  return kLogLevels[static_cast<size_t>(level)].second;
}

/// nullopt: no level has this name.
constexpr std::optional<LogLevel> LevelOf(std::string_view name) {
  for (const auto& [level, known] : kLogLevels)
    if (known == name) return level;
  return std::nullopt;
}

/// A kubelet logs single steps from verbosity 4 on.
inline constexpr int32_t kDebugVerbosity = 4;
constexpr LogLevel LevelOf(int32_t verbosity) {
  return verbosity >= kDebugVerbosity ? LogLevel::kDebug : LogLevel::kInfo;
}

}  // namespace splitlet
