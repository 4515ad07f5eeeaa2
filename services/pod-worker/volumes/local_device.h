#pragma once

/// A local volume as a block device. As in a kubelet, a link in the pod's directory leads to the
/// device, and the device is also bound to one file for each pod.
/// Killed at any line: the link is made first and removed last, so Unmap finds it and removes the
///          rest.
/// Threads: any, one call for a volume of a pod at a time; blocks on files and mounts.
/// Errors:  "/x is not a block device" and the like, at step kSetUpDevice.
/// Source:  docs/behaviour/volumes.md, "Block devices"; kubelet plugin local.

#include <string>

#include "libs/fs/file_system.h"
#include "libs/fs/mounts.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class LocalDevice final : public BlockMapper {
 public:
  struct Deps {
    fs::FileSystem& files;
    fs::Mounts& mounts;
    std::string folder;  // the plugin's
  };
  explicit LocalDevice(Deps deps) : deps_(std::move(deps)) {}
  SetUpResult Map(const VolumeSpec& spec, const VolumePlace& place) override;
  StatusOr<Progress> Unmap(const VolumePlace& place) override;

 private:
  /// "<root>/plugins/<folder>/volumeDevices/<volume>", which holds a file for each pod.
  std::string SharedDir(const VolumePlace& place) const;
  Status Link(const std::string& device, const std::string& path) const;

  const Deps deps_;
};

}  // namespace splitlet::pod_worker
