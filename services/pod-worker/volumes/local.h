#pragma once

/// local: a directory of this machine behind a persistent volume, bound into the directory of each
/// pod with a claim on it. The first such pod gives the directory to its fsGroup.
/// Killed at any line: the next start finds the mounts. The directory gets its group before it is
///          bound, so a bound directory has its group.
/// Threads: any, one call for a volume at a time; blocks on files, mounts and, where there are
///          mount options, mount(8).
/// Errors:  `path "/x" does not exist`, "only directory and block device are supported" and the
///          like, at step kMakeMounter; the kernel's error of a mount.
/// Source:  docs/behaviour/volumes.md, "Local volumes"; kubelet plugin local.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libs/fs/file_system.h"
#include "libs/fs/group_of.h"
#include "libs/fs/mounts.h"
#include "libs/process/run_program.h"
#include "services/pod-worker/volumes/local_device.h"
#include "services/pod-worker/volumes/volume_dirs.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class LocalVolume final : public VolumePlugin {
 public:
  static constexpr std::string_view kFolder = "kubernetes.io~local-volume";

  struct Deps {
    fs::FileSystem& files;
    fs::Mounts& mounts;
    VolumeDirs& dirs;
    const process::ProgramRunner& run;  // empty: mount options are refused
    fs::GroupReader group_of;
    const Clock& clock;
  };
  explicit LocalVolume(Deps deps)
      : deps_(std::move(deps)), device_({deps_.files, deps_.mounts, std::string(kFolder)}) {}
  /// Only persistent volumes are local.
  bool Takes(const VolumeSpec& spec) const override;
  std::string_view folder() const override { return kFolder; }
  BlockMapper* block() override { return &device_; }
  bool takes_mount_options() const override { return true; }
  SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                    const VolumePlace& place) override;
  StatusOr<Progress> TearDown(const VolumePlace& place) override;

 private:
  Status GiveToGroup(const std::string& directory, const VolumeInput& in,
                     const VolumePlace& place) const;
  bool Matches(const std::string& directory, uint32_t group) const;
  Status Bind(const std::string& directory, const std::string& path) const;
  Status SetOptions(const std::vector<std::string>& options, const std::string& path) const;

  const Deps deps_;
  LocalDevice device_;
};

/// Only a directory can be the volume. A block device would have to be formatted first, which
/// cannot be taken back.
SetUpResult CheckLocal(const std::string& directory, const StatusOr<fs::FileInfo>& there);

struct GroupCheck {
  fs::FileSystem& files;
  fs::GroupReader group_of;
  std::string pod_dir;
};
/// Texts of the event AlreadyMountedVolume: for each local volume that SetUp is about to mount and
/// that another pod has mounted with another group. The volume keeps that group.
std::vector<std::string> VolumesOfOtherGroups(const VolumeInput& in, const GroupCheck& check);

}  // namespace splitlet::pod_worker
