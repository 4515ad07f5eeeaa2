#pragma once

/// Which containers a sync stops for another reason than their own state and definition.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Steps".

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "services/pod-worker/pod/container_stop.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

/// `stopped`: ids of containers in an unknown state that were stopped already.
using StoppedIds = std::set<std::string>;

/// Containers of earlier incarnations that run or may run. `all`: of every incarnation.
std::vector<ContainerStop> StopsOfEarlier(const v1::ObservedPod& all, int64_t incarnation,
                                          const StoppedIds& stopped);

/// Every container that runs or may run. `replaced`: a sandbox is made in place of the present one.
std::vector<ContainerStop> StopsOfAll(const v1::ObservedPod& seen, const StoppedIds& stopped,
                                      bool replaced);

/// Adds the running containers whose postStart hook has failed.
void AddFailedHooks(const v1::ObservedPod& seen, const std::set<std::string>& failed_hooks,
                    std::vector<ContainerStop>& stops);

}  // namespace splitlet::pod_worker
