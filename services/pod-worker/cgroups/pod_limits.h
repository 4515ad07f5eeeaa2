#pragma once

/// What the cgroups of pods are limited to: of one pod, and of all together.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT for a quantity that does not parse (validation refuses it before).
/// Source:  docs/behaviour/cgroups.md, "Limits"; kubelet cm.ResourceConfigForPod.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/cgroup/values.h"
#include "libs/kube/pod_types.h"
#include "libs/node/machine.h"
#include "libs/node/resources.h"
#include "services/pod-worker/pod/class_requests.h"

namespace splitlet::pod_worker {

struct PodLimitsInput {
  const kube::Pod& pod;
  bool cpu_quota = true;  // CPU limits are enforced
  int64_t cpu_period_us = 100'000;
  int64_t pids = -1;                               // below 1: no limit
  const std::vector<node::HugePages>& huge_pages;  // sizes of the node
  bool keep_memory = false;                        // that is requested
};
StatusOr<cgroup::Limits> PodCgroupLimits(const PodLimitsInput& input);

struct AllPodsInput {
  const node::Machine& machine;
  node::NodeLimits limits;  // of the configuration
  bool enforced = true;     // the reservations are kept
  int64_t most_pids = 0;    // of the kernel; 0: not known
};
/// Of "kubepods": the capacity less the reservations; eviction thresholds are not taken off, and
/// huge pages count as memory.
StatusOr<cgroup::Limits> AllPodsLimits(const AllPodsInput& input);
/// Of the cgroup of what is reserved: "cpu", "memory" and "pid" of the reservation; what it does
/// not name is not limited. Huge pages are left alone.
StatusOr<cgroup::Limits> ReservedLimits(const std::map<std::string, std::string>& reserved,
                                        bool cpu_only);
/// Of the classes that have a cgroup of their own; 2 shares for no CPU.
cgroup::Limits QosCgroupLimits(int64_t millicores, const std::vector<node::HugePages>& huge_pages);

}  // namespace splitlet::pod_worker
