#pragma once

/// Which ends of a container are followed by another attempt, and which phase the ends of all
/// leave the pod in.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md; docs/safety.md, rule 20.

#include <cstdint>
#include <set>
#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::v1 {
class ContainerRecord;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// Whether another attempt follows an end that no process saw.
bool RestartsLost(const kube::Pod& pod, const kube::Container& container);

/// Whether another attempt follows this end.
bool RestartsAfter(const kube::Pod& pod, const kube::Container& container,
                   const v1::ContainerRecord& ended, int32_t exit_code);

/// Whether the container is started again after its newest record. nullptr: no record.
bool ShouldRestart(const kube::Pod& pod, const kube::Container& container,
                   const v1::ContainerRecord* newest);

/// "Succeeded" or "Failed" when nothing of the pod will ever run again by itself; else empty.
std::string TerminalPhase(const kube::Pod& pod, const v1::ObservedPod& seen,
                          const std::set<std::string>& replacing = {});

/// The phase with which a pod that was ended is left. Static pods are not forced into a terminal
/// one: may be empty.
std::string PhaseAfterKill(const kube::Pod& pod, const v1::ObservedPod& seen);

}  // namespace splitlet::pod_worker
