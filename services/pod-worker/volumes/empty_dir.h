#pragma once

/// emptyDir: a directory of the pod on disk, in memory or on huge pages.
/// Threads: any; blocks on files and mounts.
/// Errors:  `unknown storage medium "x"`; the kernel's error of a mount.
/// Units:   bytes.
/// Source:  docs/behaviour/volumes.md, "emptyDir"; kubelet emptydir.

#include <cstdint>

#include "services/pod-worker/volumes/volume_dirs.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

/// The size of a tmpfs of the pod: the least of the node's allocatable memory, the memory limit of
/// the pod's cgroup and the volume's size limit. The cgroup has a limit only where every container
/// or the pod has one. `size_limit` 0: none.
int64_t TmpfsBytes(const kube::Pod& pod, int64_t allocatable, int64_t size_limit);

class EmptyDirVolume final : public VolumePlugin {
 public:
  EmptyDirVolume(VolumeDirs& dirs, int64_t allocatable) : dirs_(dirs), allocatable_(allocatable) {}
  bool Takes(const VolumeSpec& spec) const override;
  std::string_view folder() const override { return "kubernetes.io~empty-dir"; }
  SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                    const VolumePlace& place) override;
  StatusOr<Progress> TearDown(const VolumePlace& place) override;

 private:
  VolumeDirs& dirs_;
  const int64_t allocatable_;  // memory
};

}  // namespace splitlet::pod_worker
