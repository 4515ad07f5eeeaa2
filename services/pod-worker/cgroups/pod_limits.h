#pragma once

/// The limits of cgroups: of one pod, of all pods together, of QoS classes and of reservations.
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
  bool keep_memory = false;                        // protect the requested memory
};
StatusOr<cgroup::Limits> PodCgroupLimits(const PodLimitsInput& input);

struct AllPodsInput {
  const node::Machine& machine;
  node::NodeLimits limits;  // of the configuration
  bool enforced = true;     // the reservations are taken off
  int64_t most_pids = 0;    // the kernel's maximum; 0: not known
};
/// Limits of "kubepods": the capacity less the reservations. Eviction thresholds are not taken off.
/// Huge pages count as memory.
StatusOr<cgroup::Limits> AllPodsLimits(const AllPodsInput& input);
/// Limits of a reserved cgroup: "cpu", "memory" and "pid" of the reservation. Other resources and
/// huge pages are not limited.
StatusOr<cgroup::Limits> ReservedLimits(const std::map<std::string, std::string>& reserved,
                                        bool cpu_only);
/// Limits of a QoS class with its own cgroup; 2 shares where no CPU is requested.
cgroup::Limits QosCgroupLimits(int64_t millicores, const std::vector<node::HugePages>& huge_pages);

}  // namespace splitlet::pod_worker
