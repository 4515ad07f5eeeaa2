#pragma once

/// The settings of pod-worker: from the configuration, and found out about its node.
/// Threads: values; LoadConfig blocks on files.
/// Errors:  those of the files.

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/images/image_access.h"
#include "services/pod-worker/images/provider_config.h"
#include "services/pod-worker/node/machine_setup.h"
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/user_namespaces/user_ids.h"

namespace splitlet::pod_worker {

struct Config {
  NodeInfo node;
  std::string run_dir, state_dir, runtime_endpoint;
  Duration request_timeout = 120s;
  Duration sync_frequency = 60s;
  Duration crash_loop_max = 300s;
  size_t parallel_pulls = 1;  // at the same time; 0: any number
  int32_t registry_qps = 5, registry_burst = 10;
  AccessPolicy image_access;
  std::string home;  // of the process's user; empty: none
  std::vector<CredentialProvider> credential_providers = {};
  std::string objects_path;  // empty: none
  CgroupSettings cgroups = {};
  MachineSettings machine = {};
  /// Resources of a former kubelet's device plugins.
  StatusOr<std::vector<std::string>> former_devices = std::vector<std::string>();
  StatusOr<IdPool> user_ids = Unavailable("not read");  // for pods with a user namespace
};

/// Asks the kernel for processors and memory.
StatusOr<Config> LoadConfig(const daemon::Flags& flags, const config::KubeletConfig& kubelet,
                            fs::FileSystem& files);

}  // namespace splitlet::pod_worker
