#pragma once

/// Requests and limits of containers for the runtime, and the OOM score of a container.
/// Threads: pure functions, any.
/// Errors:  none; a quantity that does not parse counts as unset (validation refuses it earlier).
/// Units:   millicores, bytes.
/// Source:  docs/behaviour/resources.md.

#include <cstdint>
#include <optional>
#include <string>

#include "libs/cgroup/values.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/node_info.h"

namespace runtime::v1 {
class LinuxContainerResources;
class PodSandboxConfig;
}  // namespace runtime::v1

namespace splitlet::pod_worker {

std::optional<int64_t> RequestOf(const kube::ResourceRequirements& resources,
                                 const std::string& name, bool milli);
std::optional<int64_t> LimitOf(const kube::ResourceRequirements& resources, const std::string& name,
                               bool milli);

using cgroup::CpuQuota;
using cgroup::CpuShares;
int64_t OomScoreAdj(const kube::Pod& pod, const kube::Container& container, const NodeInfo& node);

/// Limits of a container. A limit that the container lacks is the pod's.
void SetContainerResources(const kube::Pod& pod, const kube::Container& container,
                           const NodeInfo& node, runtime::v1::LinuxContainerResources& out);
/// The sum of the pod, and separately its overhead, for runtimes that size a virtual machine.
void SetPodResources(const kube::Pod& pod, const NodeInfo& node,
                     runtime::v1::PodSandboxConfig& out);

}  // namespace splitlet::pod_worker
