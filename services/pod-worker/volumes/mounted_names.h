#pragma once

/// The volumes of a pod that its containers use.
/// Threads: a pure function, any.
/// Errors:  none.
/// Source:  docs/behaviour/volumes.md.

#include <set>
#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// Names of the volumes that a container of the pod mounts.
std::set<std::string> MountedNames(const kube::Pod& pod);

/// Names of the volumes that a container of the pod has as a block device.
std::set<std::string> DeviceNames(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
