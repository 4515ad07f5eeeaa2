#pragma once

/// The persistent volume behind a claim that a pod names.
/// Threads: a pure function, any.
/// Errors:  "PVC is not bound" and the like, as the event FailedMount shows them.
/// Source:  docs/behaviour/volumes.md, "Claims".

#include <string>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

/// `volume`: has a persistentVolumeClaim. The volume found is bound to that claim and holds a file
/// system.
StatusOr<ObjectPtr<PersistentVolume>> VolumeOfClaim(const kube::Volume& volume,
                                                    const std::string& name_space,
                                                    const ObjectSource& objects);

}  // namespace splitlet::pod_worker
