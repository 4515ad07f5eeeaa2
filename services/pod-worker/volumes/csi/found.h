#pragma once

/// The CSI volumes that an earlier start, or a kubelet, left on the disk.
/// Threads: any; blocks on files.
/// Errors:  a directory that cannot be listed. A file that cannot be read is in `unreadable`.
/// Source:  docs/behaviour/volumes.md, "CSI"; kubelet reconciler reconstruct.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/csi/vol_data.h"
#include "services/pod-worker/volumes/csi/volume_files.h"
#include "services/pod-worker/volumes/csi/wish.h"

namespace splitlet::pod_worker {

struct FoundVolumes {
  struct Staged {
    csi::VolumeData data;
    std::string directory;
  };
  struct Published {
    PodVolumeKey key;
    csi::VolumeData data;
    std::string directory;
  };
  struct Unreadable {
    PodVolumeKey key;  // empty: a staging directory
    Status why;
  };
  std::vector<Staged> staged;
  std::vector<Published> published;
  std::vector<Unreadable> unreadable;
};

/// `root_dir`: "/var/lib/kubelet".
StatusOr<FoundVolumes> FindVolumes(const CsiDisk& disk, const std::string& root_dir);

}  // namespace splitlet::pod_worker
