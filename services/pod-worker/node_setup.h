#pragma once

/// The set-up of the machine, for no pod in particular: kernel parameters, iptables chains, the
/// shared root directory, and the range of addresses of pods.
/// In:      Prepare and Start of the process; with an API server, the Node.
/// Owns:    the set-up of the machine, and the range that the runtime was given.
/// Out:     sysctls, iptables, a mount; UpdateRuntimeConfig.
/// Killed:  the next start does the same.
/// Threads: the loop's.
/// Errors:  of Prepare: a kernel parameter is not as protectKernelDefaults wants it.
/// Source:  docs/behaviour/machine.md.

#include <memory>

#include "libs/base/cancel.h"
#include "libs/base/status.h"
#include "libs/cri/network_config.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/fs/mounts.h"
#include "services/pod-worker/config.h"
#include "services/pod-worker/node/machine_setup.h"
#include "services/pod-worker/node/pod_cidr.h"

namespace splitlet::pod_worker {

class NodeSetup {
 public:
  struct Deps {
    daemon::ServiceContext& context;
    exec::Strands& runtime_strands;
    cri::NetworkConfig& network;
    fs::Mounts& mounts;
    const ApiContext* api = nullptr;  // null: this node has no API server
    std::shared_ptr<CancelToken> ending;
  };
  NodeSetup(const Deps& deps, const Config& config);

  /// Blocks; the process does not start without.
  static Status Prepare(daemon::ServiceContext& context, const Config& config);
  void Start();

 private:
  MachineSetup machine_;
  PodCidr pod_cidr_;
};

}  // namespace splitlet::pod_worker
