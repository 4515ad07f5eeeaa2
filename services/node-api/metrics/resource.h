#pragma once

/// /metrics/resource, which metrics-server scrapes.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <string>
#include <vector>

#include "services/node-api/stats/pod_stats.h"

namespace splitlet::node_api {

std::string ResourceMetrics(const StatsSnapshot& stats, const std::vector<PodUse>& pods);
/// The answer if gc returns no stats.
std::string ResourceError();

}  // namespace splitlet::node_api
