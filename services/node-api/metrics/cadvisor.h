#pragma once

/// /metrics/cadvisor: containers, pods, the node agent's own cgroups and the machine.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <string>
#include <vector>

#include "services/node-api/stats/pod_stats.h"

namespace splitlet::node_api {

struct MachineLabels {
  std::string machine_id, system_uuid, boot_id;
  int64_t cpus = 0, cores = 0, sockets = 0;            // 0: unknown
  std::string kernel_version, os_image, version = {};  // versions of the machine, and of splitlet
};
std::string CadvisorMetrics(const StatsSnapshot& stats, const std::vector<PodUse>& pods,
                            const MachineLabels& machine);

}  // namespace splitlet::node_api
