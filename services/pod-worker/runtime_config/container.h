#pragma once

/// The sandbox and container configuration that goes to the runtime, field by field as a kubelet
/// sends it. cgroup_parent is left empty: the runtime places the pod. Works with containerd
/// from 1.6 on. Threads: pure functions, any. Errors: INVALID_ARGUMENT with the text of the waiting
/// message. Source: runtime-sync spec, sections 10 and 12 to 15.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/runtime_config/dns.h"
#include "services/pod-worker/runtime_config/node_info.h"

namespace runtime::v1 {
class ContainerConfig;
class LinuxContainerSecurityContext;
class PodSandboxConfig;
}  // namespace runtime::v1

namespace splitlet::pod_worker {

struct HostNames {
  std::string host, domain;  // empty: none
};
/// What the pod calls itself; INVALID_ARGUMENT when the fully qualified name is too long for a host
/// name.
StatusOr<HostNames> HostNamesOf(const kube::Pod& pod, const std::string& cluster_domain);

struct SandboxInput {
  const kube::Pod& pod;
  const NodeInfo& node;
  const Dns& dns;
  uint32_t attempt = 0;
  int64_t incarnation = 0;
};
Status MakeSandboxConfig(const SandboxInput& input, runtime::v1::PodSandboxConfig& out);

/// Content of the pod's /etc/hosts; `node_file`: the node's, for pods in its network.
std::string HostsFile(const kube::Pod& pod, const std::vector<std::string>& ips,
                      const HostNames& names, const std::string& node_file);

/// Files that the shell has made for this attempt.
struct ContainerFiles {
  std::map<std::string, std::string> volumes;  // volume -> host path
  std::string hosts_file;                      // empty: none
  std::string termination_log;                 // empty: none
};
struct ContainerInput {
  const kube::Pod& pod;
  const kube::Container& container;
  const NodeInfo& node;
  const ContainerFiles& files;
  std::vector<std::string> pod_ips;
  std::string image_ref;
  std::optional<cri::Image> image;  // for its user, where NeedsImageUser says so
  uint32_t restart_count = 0;
  uint32_t attempt = 0;  // grows over all lives of the pod
  int64_t incarnation = 0;
};
Status MakeContainerConfig(const ContainerInput& input, runtime::v1::ContainerConfig& out);

/// Without a runAsUser the container runs as the image's user, with the groups that the runtime's
/// image gives that user, and that user decides whether runAsNonRoot holds.
bool NeedsImageUser(const kube::Pod& pod, const kube::Container& container);

/// security_config.cc.
Status SetSecurityContext(const ContainerInput& input,
                          runtime::v1::LinuxContainerSecurityContext& out);
void SetSandboxSecurity(const kube::Pod& pod, runtime::v1::PodSandboxConfig& out);

}  // namespace splitlet::pod_worker
