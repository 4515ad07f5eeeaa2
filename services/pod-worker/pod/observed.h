#pragma once

/// Small readings of what the runtime showed of a pod.
/// Threads: pure functions, any.
/// Errors:  none.

#include <memory>
#include <string>

namespace splitlet::v1 {
class ContainerRecord;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// The newest record of a container name; nullptr without one.
const v1::ContainerRecord* NewestRecord(const v1::ObservedPod& seen, const std::string& name);

/// The first address of the newest sandbox; empty without one.
std::string PodIpOf(const v1::ObservedPod& seen);

/// Ended badly: exit code not 0, killed for memory, or unknown.
bool HasFailed(const v1::ContainerRecord& record);

bool AnyRunning(const v1::ObservedPod& seen);

/// `now` with the addresses of `before` where it has none, and with the containers that only
/// `before` has.
void MergeObservation(const v1::ObservedPod& before, v1::ObservedPod& now);

/// Running containers, which the next inspection need not ask for: while they are listed as
/// running, their status stays the same. Sandboxes are always asked for: a sandbox that lost its
/// addresses is replaced while it is still listed as ready. So are ended containers: the runtime
/// may learn the reason a little later.
std::shared_ptr<const v1::ObservedPod> KnownRunning(const v1::ObservedPod& seen);

}  // namespace splitlet::pod_worker
