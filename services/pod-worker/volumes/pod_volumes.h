#pragma once

/// The volumes of a pod: which can be made here, where they are on the host, and what must be there
/// before a container starts. hostPath and emptyDir on disk; every other kind is refused with its
/// name.
/// Threads: pure functions, any; EnsureVolumes and RemoveVolumes block on files.
/// Errors:  the text that the event FailedMount shows.
/// Source:  docs/behaviour/volumes.md.

#include <map>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "libs/node/pod_place.h"

namespace splitlet::pod_worker {

/// Name of the volume -> directory or file on the host. INVALID_ARGUMENT: `volume type "nfs" is not
/// supported`.
StatusOr<std::map<std::string, std::string>> VolumePaths(const kube::Pod& pod,
                                                         const std::string& pod_dir);

/// Idempotent: makes what is missing, checks what must be there.
Status EnsureVolumes(const kube::Pod& pod, const std::string& pod_dir, fs::FileSystem& files);

/// Says on disk that the pod's directory is ours; before EnsureVolumes makes it.
Status MarkPod(const std::string& uid, const node::PodRoots& roots, const node::PodMark& mark,
               fs::FileSystem& files);

/// Takes away what belongs to the pod alone. A pod that ran here without a mark, taken over from a
/// kubelet or after the state was lost, gets one, so that the rest of its directory goes as well.
Status RemoveVolumesOf(const std::string& uid, const std::string& source,
                       const node::PodRoots& roots, fs::FileSystem& files);
Status RemoveVolumes(const std::string& pod_dir, fs::FileSystem& files);

}  // namespace splitlet::pod_worker
