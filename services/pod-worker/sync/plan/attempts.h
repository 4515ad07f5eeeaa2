#pragma once

/// The attempt numbers of what a sync makes, and which attempts are remembered.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/safety.md, rule 3.

#include <cstdint>

#include "libs/cri/incarnation.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/sync/plan/actions.h"

namespace splitlet::pod_worker {

/// Gives what is made the numbers after all that `seen` holds of any incarnation, and adds to what
/// has to be removed first what earlier incarnations never started.
void NumberAttempts(const v1::ObservedPod& seen, int64_t incarnation,
                    const cri::StartedAttempts& begun, PodActions& todo);

/// Whether the started attempts of a container are remembered: unless it is always started again.
bool IsRemembered(const kube::Pod& pod, const kube::Container& container);

/// `begun` with what runs without being remembered, as after an upgrade, or in a pod that was taken
/// over from a kubelet.
cri::StartedAttempts WithUnremembered(const kube::Pod& pod, const v1::ObservedPod& present,
                                      cri::StartedAttempts begun);

}  // namespace splitlet::pod_worker
