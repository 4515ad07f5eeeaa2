#pragma once

/// The sandbox configuration that goes to the runtime, and the pod's /etc/hosts, field by field as
/// a kubelet makes them. Works with containerd from 1.6 on.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT with the text of the event.
/// Source:  docs/behaviour/runtime-config.md.

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/runtime_config/dns.h"
#include "services/pod-worker/runtime_config/isolation.h"

namespace runtime::v1 {
class PodSandboxConfig;
}

namespace splitlet::pod_worker {

struct HostNames {
  std::string host, domain;  // empty: none
};
/// INVALID_ARGUMENT: the fully qualified name is too long for a host name.
StatusOr<HostNames> HostNamesOf(const kube::Pod& pod, const std::string& cluster_domain);

struct SandboxInput {
  const kube::Pod& pod;
  const NodeInfo& node;
  const Dns& dns;
  uint32_t attempt = 0;
  int64_t incarnation = 0;
  Isolation isolation = {};
  std::string cgroup_parent = {};  // empty: the runtime places the pod
};
Status MakeSandboxConfig(const SandboxInput& input, runtime::v1::PodSandboxConfig& out);

/// Content of the pod's /etc/hosts. `node_file`: the node's file, for pods on the host's network.
std::string HostsFile(const kube::Pod& pod, const std::vector<std::string>& ips,
                      const HostNames& names, const std::string& node_file);

}  // namespace splitlet::pod_worker
