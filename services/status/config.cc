#include "services/status/config.h"

#include "libs/base/processes.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::status {

std::map<std::string, Duration> HealthLimits() {
  std::map<std::string, Duration> limits;
  for (const ProcessRow& row : kProcesses)
    if (row.health_limit > Duration{0}) limits.emplace(row.name, row.health_limit);
  return limits;
}

StatusConfig LoadStatusConfig(const config::KubeletConfig& file, const daemon::Flags& flags) {
  StatusConfig config;
  config.node_name = flags.node_name;
  config.root_dir = flags.root_dir;
  config.node_ips = flags.node_ips;
  config.limits = {.max_pods = file.max_pods,
                   .pods_per_core = file.pods_per_core,
                   .system_reserved = file.system_reserved,
                   .kube_reserved = file.kube_reserved,
                   .reserved_cpus = file.reserved_system_cpus,
                   .eviction_hard = file.eviction_hard};
  return config;
}

}  // namespace splitlet::status
