#pragma once

/// RestartAllContainers: when a container ends with this rule, all containers of the pod restart,
/// init containers too; the sandbox stays.
/// In:      what the runtime shows of the present incarnation.
/// Killed:  the record of that end is removed last: the next start goes on.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Containers"; kubelet ShouldAllContainersRestart.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/sync/plan/actions.h"

namespace splitlet::pod_worker {

/// Ids of records; the logs of all stay.
struct RestartAll {
  std::vector<ContainerStop> stop;       // what runs; nothing is removed before it has ended
  std::vector<std::string> remove;       // regular containers, then init containers
  std::vector<std::string> remove_last;  // the containers that ended with the rule
};

/// Unset: no container ended with the rule. `stopped`: ids of records in an unknown state that were
/// stopped already.
std::optional<RestartAll> ComputeRestartAll(const kube::Pod& pod, const v1::ObservedPod& seen,
                                            const std::set<std::string>& stopped);

}  // namespace splitlet::pod_worker
