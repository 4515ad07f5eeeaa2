#pragma once

/// Metrics as Go's library writes them: each number in the shortest form that reads back the same.
/// (TextSerializer of prometheus-cpp cuts at 16 digits: a bucket would get another bound.)
/// Threads: any; nothing fails.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace splitlet::daemon {

/// "0.25", "1e+06", "119.20928955078125", "+Inf", "NaN".
std::string NumberText(double value);

std::string MetricsText(const std::vector<prometheus::MetricFamily>& families);

}  // namespace splitlet::daemon
