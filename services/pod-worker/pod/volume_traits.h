#pragma once

/// Traits of a pod's volumes in its spec, for classes that do not set up volumes.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/volumes.md, "Claims" and "Objects as files".

#include <string>

#include "libs/kube/pod_types.h"

namespace k8s::io::api::core::v1 {
class VolumeSource;
}

namespace splitlet::pod_worker {

/// The name of the volume's claim, also of an ephemeral volume's; empty: the volume has none.
std::string ClaimNameOf(const kube::Volume& volume, const kube::Pod& pod);

/// A configMap, secret, downwardAPI or projected volume. Containers get it read-only.
bool ShowsObjects(const k8s::io::api::core::v1::VolumeSource& source);
/// The pod has such a volume.
bool ShowsObjects(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
