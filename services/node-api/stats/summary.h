#pragma once

/// The JSON of /stats/summary.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Figures".

#include <string>
#include <vector>

#include "services/node-api/stats/pod_stats.h"

namespace splitlet::node_api {

struct SummaryOptions {
  std::string node_name;
  bool only_cpu_and_memory = false;
};
std::string SummaryJson(const StatsSnapshot& stats, const std::vector<PodUse>& pods,
                        const SummaryOptions& options);

}  // namespace splitlet::node_api
