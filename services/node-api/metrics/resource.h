#pragma once

/// /metrics/resource, of which the resource metrics API is made.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <string>
#include <vector>

#include "services/node-api/stats/pod_stats.h"

namespace splitlet::node_api {

std::string ResourceMetrics(const StatsSnapshot& stats, const std::vector<PodUse>& pods);
/// When there are no stats.
std::string ResourceError();

}  // namespace splitlet::node_api
