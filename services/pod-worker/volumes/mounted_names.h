#pragma once

/// Which volumes of a pod are wanted.
/// Threads: a pure function, any.
/// Errors:  none.
/// Source:  docs/behaviour/volumes.md.

#include <set>
#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// Names of the volumes that some container of the pod mounts.
std::set<std::string> MountedNames(const kube::Pod& pod);

/// Of those that one has as a block device.
std::set<std::string> DeviceNames(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
