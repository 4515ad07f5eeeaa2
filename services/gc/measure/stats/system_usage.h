#pragma once

/// Measures the usage of the node agent, the runtime and all pods together.
/// Threads: a strand; it blocks on files and on a socket.
/// Errors:  none: stats that cannot be read are left out.
/// Source:  docs/behaviour/node-api.md, "Figures".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/gc/measure/cgroup_usage.h"

namespace splitlet::v1 {
class NodeUsageStats;
class SystemContainerStats;
}  // namespace splitlet::v1

namespace splitlet::gc {

struct SystemSources {
  fs::FileSystem& files;
  const cgroup::Layout& layout;
  const CgroupTree& tree;
  std::optional<int64_t> runtime_pid;
  const v1::NodeUsageStats& node;
};
/// "kubelet": the cgroup of this process, and the cgroups of the other processes where each has its
/// own. "runtime": the cgroup of the runtime. "pods": the common cgroup of all pods; without one
/// the whole machine, as with a kubelet that makes no cgroups for pods.
std::vector<v1::SystemContainerStats> ReadSystem(const SystemSources& from);

/// Pid of the process that listens at the endpoint, such as
/// "unix:///run/containerd/containerd.sock".
std::optional<int64_t> ListenerOf(const std::string& endpoint);

}  // namespace splitlet::gc
