#include "services/status/config.h"

#include "libs/daemon/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::status {

StatusConfig LoadStatusConfig(const daemon::KubeletConfig& file, const daemon::Flags& flags) {
  StatusConfig config;
  config.node_name = flags.node_name;
  config.state_dir = flags.state_dir;
  config.limits.max_pods = file.max_pods;
  config.limits.system_reserved = file.system_reserved;
  config.limits.kube_reserved = file.kube_reserved;
  config.limits.eviction_hard = file.eviction_hard;
  return config;
}

}  // namespace splitlet::status
