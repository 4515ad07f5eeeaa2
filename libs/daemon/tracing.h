#pragma once

/// Where and how many traces are exported. The environment of OpenTelemetry overrides the key
/// `tracing` of KubeletConfiguration, except for the sampling rate.
/// Threads: pure, any.
/// Errors: INVALID_ARGUMENT naming the variable.
/// Source: docs/tracing.md, "To a collector"; the public OTLP exporter configuration.

#include <functional>
#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/config/kubelet_config.h"
#include "libs/trace/sender.h"

namespace splitlet::daemon {

struct TracingPlan {
  trace::Collector collector;
  int64_t sample_per_million = 0;
};

/// The value of a variable, empty if it is not set.
using Environment = std::function<std::string(const char* name)>;

/// nullopt: no traces are exported.
StatusOr<std::optional<TracingPlan>> PlanTracing(const config::KubeletConfig& config,
                                                 const Environment& environment);

}  // namespace splitlet::daemon
