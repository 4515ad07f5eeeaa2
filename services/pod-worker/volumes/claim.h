#pragma once

/// The persistent volume behind a claim that a pod names.
/// Threads: a pure function, any.
/// Errors:  "PVC is not bound" and the like, as the event FailedMount shows them.
/// Source:  docs/behaviour/volumes.md, "Claims".

#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/pod/volume_traits.h"

namespace splitlet::pod_worker {

struct BoundVolume {
  ObjectPtr<Claim> claim;
  ObjectPtr<PersistentVolume> volume;
};
/// `volume`: has a claim. The result is bound to that claim, and has the volumeMode that the pod's
/// containers expect.
StatusOr<BoundVolume> VolumeOfClaim(const kube::Volume& volume, const kube::Pod& pod,
                                    const ObjectSource& objects);

/// FAILED_PRECONDITION: no term of the volume's node affinity matches this node.
Status CheckNodeAffinity(const PersistentVolume& volume, const std::string& node_name);

}  // namespace splitlet::pod_worker
