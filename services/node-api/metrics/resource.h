#pragma once

/// /metrics/resource and /metrics/cadvisor.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <string>
#include <vector>

#include "services/node-api/stats/pod_figures.h"

namespace splitlet::node_api {

std::string ResourceMetrics(const Figures& figures, const std::vector<PodUse>& pods);
/// When there are no figures.
std::string ResourceError();

struct MachineLabels {
  std::string machine_id, system_uuid, boot_id;
  int64_t cpus = 0;
};
std::string CadvisorMetrics(const Figures& figures, const std::vector<PodUse>& pods,
                            const MachineLabels& machine);

}  // namespace splitlet::node_api
