#pragma once

/// hostPath: a path of the host. The type may ask to make it; it is never removed.
/// Threads: any; blocks on files.
/// Errors:  "hostPath type check failed: /x is not a directory".
/// Source:  docs/behaviour/volumes.md, "hostPath".

#include <utility>

#include "libs/fs/file_system.h"
#include "libs/fs/new_file.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class HostPathVolume final : public VolumePlugin {
 public:
  HostPathVolume(fs::FileSystem& files, fs::NewFileMaker make_file)
      : files_(files), make_file_(std::move(make_file)) {}
  bool Takes(const VolumeSpec& spec) const override;
  std::string name() const override { return "kubernetes.io/host-path"; }
  StatusOr<std::string> HostPath(const VolumeSpec& spec, const VolumePlace& place) const override;
  SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                    const VolumePlace& place) override;
  StatusOr<Progress> TearDown(const VolumePlace&) override { return Progress::kDone; }

 private:
  fs::FileSystem& files_;
  const fs::NewFileMaker make_file_;
};

}  // namespace splitlet::pod_worker
