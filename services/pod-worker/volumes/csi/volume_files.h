#pragma once

/// The directories of a CSI volume and the vol_data.json beside its mounts. Files are written
/// before the driver is called and removed after it, so whatever a driver may have mounted can be
/// undone after a crash.
/// Killed at any line: the next call goes on.
/// Threads: any, one call for a directory at a time; blocks on files.
/// Errors:  the kernel's, with the kubelet's context.
/// Source:  kubelet csi_util saveVolumeData, removeMountDir, csi_attacher MountDevice.

#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/csi/vol_data.h"
#include "libs/fs/file_system.h"
#include "libs/fs/group_of.h"
#include "libs/fs/mounts.h"
#include "services/pod-worker/volumes/volume_dirs.h"

namespace splitlet::pod_worker {

struct CsiDisk {
  fs::FileSystem& files;
  fs::Mounts& mounts;
  VolumeDirs& dirs;
  fs::GroupReader group_of;
};

/// Beside globalmount: makes it, then the file.
Status PrepareStaging(const CsiDisk& disk, const std::string& staging_dir,
                      const csi::VolumeData& data);
Status PreparePublish(const CsiDisk& disk, const std::string& directory,
                      const csi::VolumeData& data);

/// Unset: there is no file.
StatusOr<std::optional<csi::VolumeData>> ReadVolumeData(const CsiDisk& disk,
                                                        const std::string& directory,
                                                        csi::DataPlace place);

/// Removes the mount point, the file and the directory; never their content. FAILED_PRECONDITION:
/// the mount point is still mounted, and everything stays.
Status RemoveVolumeDir(const CsiDisk& disk, const std::string& directory,
                       const std::string& mount_point);

/// Gives the mounted volume to the group, unless the policy says that it has it.
void GiveVolumeToGroup(const CsiDisk& disk, const std::string& target, uint32_t group,
                       bool only_if_other_group);

/// "<staging dir>/globalmount".
std::string GlobalMountOf(const std::string& staging_dir);

}  // namespace splitlet::pod_worker
