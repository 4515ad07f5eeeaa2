#include "services/pod-worker/cgroups/runtime_driver.h"

#include "libs/cri/cgroup_driver.h"
#include "libs/rpc/rpc.h"
#include "services/pod-worker/cgroups/driver_choice.h"
#include "services/pod-worker/metrics/metrics.h"

namespace splitlet::pod_worker {

namespace {

/// For the runtime to name its driver of cgroups; at boot it may not be up yet.
constexpr Duration kAskLimit = 5s;

}  // namespace

config::KubeletConfig WithRuntimeDriver(daemon::ServiceContext& context) {
  config::KubeletConfig kubelet = context.config();
  const daemon::Flags& flags = context.flags();
  if (!kubelet.HasPodCgroups(!flags.kubeconfig.empty())) return kubelet;
  const auto ask = [&] {
    return cri::AskCgroupDriver(rpc::ConnectEndpoint(kubelet.container_runtime_endpoint),
                                context.clock(), After(context.clock(), kAskLimit));
  };
  Metrics metrics(context.metrics());  // of the families that the service has, too
  kubelet.cgroup_driver = ChooseDriver({.ask = ask,
                                        .configured = kubelet.cgroup_driver,
                                        .kept_path = flags.state_dir + "/pod-worker/cgroup-driver",
                                        .metrics = metrics},
                                       context.files(), context.log());
  return kubelet;
}

}  // namespace splitlet::pod_worker
