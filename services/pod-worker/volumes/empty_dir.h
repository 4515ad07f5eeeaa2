#pragma once

/// emptyDir: a directory of the pod on disk, in memory or on huge pages.
/// Threads: any; blocks on files and mounts.
/// Errors:  `unknown storage medium "x"`; what the kernel says of a mount.
/// Units:   bytes.
/// Source:  docs/behaviour/volumes.md, "emptyDir"; kubelet emptydir.

#include <cstdint>

#include "services/pod-worker/volumes/volume_dirs.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

/// What a tmpfs of the pod may hold: the least of what the node has for pods, of the limit of the
/// pod's cgroup, which it has only where every container or the pod has one, and of the volume's
/// own; 0 is no limit of its own.
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
