#pragma once

/// emptyDir: a directory of the pod on disk, in memory or on huge pages.
/// Threads: any; blocks on files and mounts.
/// Errors:  `unknown storage medium "x"`; what the kernel says of a mount.
/// Units:   bytes.
/// Source:  docs/behaviour/volumes.md, "emptyDir"; kubelet emptydir.

#include <cstdint>

#include "libs/fs/file_system.h"
#include "libs/fs/mounts.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

/// Makes `path` a directory of mode 0777 with a file system of memory on it, unless it is one.
Status EnsureTmpfs(const std::string& path, int64_t bytes, fs::FileSystem& files,
                   fs::Mounts& mounts);
/// The directory at `path` with all in it, and what is mounted on it.
Status RemoveDirectory(const std::string& path, fs::FileSystem& files, fs::Mounts& mounts);

/// What a tmpfs of the pod may hold: the least of what the node has for pods, of the pod's limit
/// and of the volume's own; 0 is no limit of its own.
int64_t TmpfsBytes(const kube::Pod& pod, int64_t allocatable, int64_t size_limit);

class EmptyDirVolume final : public VolumePlugin {
 public:
  EmptyDirVolume(fs::FileSystem& files, fs::Mounts& mounts, int64_t allocatable)
      : files_(files), mounts_(mounts), allocatable_(allocatable) {}
  bool Takes(const VolumeSource& source) const override;
  std::string_view folder() const override { return "kubernetes.io~empty-dir"; }
  Status SetUp(const kube::Volume& volume, const VolumeInput& in, const std::string& path) override;
  Status TearDown(const std::string& path) override;

 private:
  fs::FileSystem& files_;
  fs::Mounts& mounts_;
  const int64_t allocatable_;  // memory
};

}  // namespace splitlet::pod_worker
