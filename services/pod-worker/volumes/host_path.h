#pragma once

/// hostPath: what is on the host already, or is made there for good.
/// Threads: any; blocks on files.
/// Errors:  "hostPath type check failed: /x is not a directory".
/// Source:  docs/behaviour/volumes.md, "hostPath".

#include "libs/fs/file_system.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class HostPathVolume final : public VolumePlugin {
 public:
  explicit HostPathVolume(fs::FileSystem& files) : files_(files) {}
  bool Takes(const VolumeSource& source) const override;
  StatusOr<std::string> HostPath(const VolumeSource& source) const override;
  Status SetUp(const kube::Volume& volume, const VolumeInput& in, const std::string& path) override;
  Status TearDown(const std::string&) override { return OkStatus(); }

 private:
  fs::FileSystem& files_;
};

}  // namespace splitlet::pod_worker
