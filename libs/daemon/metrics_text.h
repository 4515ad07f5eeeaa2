#pragma once

/// Metrics in the text format of Prometheus, as Go's library writes them: each number in the
/// shortest form that reads back as the same. (TextSerializer of prometheus-cpp cuts at 16 digits:
/// the bound of a bucket would be another than the same bucket's elsewhere.) Threads: any.
/// Errors: none. Source: metrics-and-logging spec.

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace splitlet::daemon {

/// "0.25", "1e+06", "119.20928955078125", "+Inf", "NaN".
std::string NumberText(double value);

std::string MetricsText(const std::vector<prometheus::MetricFamily>& families);

}  // namespace splitlet::daemon
