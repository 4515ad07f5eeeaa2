#include "services/sync-loop/config.h"

#include <sys/utsname.h>

#include "libs/base/hash.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"
#include "libs/fs/state_id.h"

namespace splitlet::sync_loop {

SyncLoopConfig MakeSyncLoopConfig(const daemon::Flags& flags, const config::KubeletConfig& kubelet,
                                  const std::string& state_id) {
  utsname kernel{};
  static_cast<void>(::uname(&kernel));  // only fails for a bad address
  return {.node_name = flags.node_name,
          .node_annotation = fs::NodeAnnotationValue(state_id, flags.node_name),
          .admissions_dir = flags.run_dir + "/sync-loop/admission",
          .kernel_release = kernel.release,
          .allowed_unsafe_sysctls = kubelet.allowed_unsafe_sysctls,
          .max_pods = kubelet.max_pods,
          .pod_resources = kubelet.gates.Enabled("PodLevelResources"),
          .kill_unmanaged_pods = kubelet.splitlet.kill_unmanaged_pods,
          .offline_start = kubelet.splitlet.offline_start,
          .seed = Fnv1a64(flags.node_name)};
}

}  // namespace splitlet::sync_loop
