#pragma once

/// What the node agent, the runtime and all pods together use.
/// Threads: a strand; it blocks on files and on a socket.
/// Errors:  none: what is not known is left out.
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
/// "kubelet": the cgroup of this process, with those of its siblings where each process has its
/// own; "runtime": the cgroup of that process; "pods": their common cgroup, and where they have
/// none the whole machine, as with a kubelet that makes no cgroups for pods.
std::vector<v1::SystemContainerStats> ReadSystem(const SystemSources& from);

/// The process that listens at "unix:///run/containerd/containerd.sock".
std::optional<int64_t> ListenerOf(const std::string& endpoint);

}  // namespace splitlet::gc
