#pragma once

/// Properties of the volumes of a pod, for rooms that make no volumes.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/volumes.md, "Claims" and "Objects as files".

#include <string>

#include "libs/kube/pod_types.h"

namespace k8s::io::api::core::v1 {
class VolumeSource;
}

namespace splitlet::pod_worker {

/// The claim that the volume names, or that was made for it; empty: it has none.
std::string ClaimNameOf(const kube::Volume& volume, const kube::Pod& pod);

/// configMap, secret, downwardAPI or projected: no container may change what it shows.
bool ShowsObjects(const k8s::io::api::core::v1::VolumeSource& source);
/// The pod has such a volume.
bool ShowsObjects(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
