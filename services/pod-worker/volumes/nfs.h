#pragma once

/// nfs: a directory of a server, mounted for the pod by mount(8), which calls the host's helper. A
/// server that does not answer blocks only its own pod, and no thread: mount(8) and umount(8) are
/// child processes with deadlines. The kernel's list of mounts is read, never the mount itself.
/// Killed:  a running mount(8) or umount(8) continues; the next start finds it and waits for its
///          end.
/// Threads: any, one call for a volume at a time; none waits for a server.
/// Errors:  "mount failed: <output of the helper>".
/// Source:  docs/behaviour/volumes.md, "NFS"; kubelet plugin nfs.

#include <string>
#include <vector>

#include "libs/fs/file_system.h"
#include "libs/process/programs.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class NfsVolume final : public VolumePlugin {
 public:
  struct Deps {
    fs::FileSystem& files;
    process::Programs* programs;  // null: NFS volumes are not supported
  };
  explicit NfsVolume(Deps deps) : deps_(deps) {}
  bool Takes(const VolumeSpec& spec) const override;
  std::string_view folder() const override { return "kubernetes.io~nfs"; }
  bool takes_mount_options() const override { return true; }
  SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                    const VolumePlace& place) override;
  StatusOr<Progress> Release(const VolumePlace& folder) override;
  StatusOr<Progress> TearDown(const VolumePlace& place) override;

 private:
  StatusOr<std::vector<std::string>> MountedBelow(const std::string& folder) const;
  StatusOr<Progress> Mount(const VolumeSpec& spec, const VolumePlace& place) const;
  StatusOr<Progress> Unmount(const std::string& pod_uid, const std::string& path) const;
  bool ForgetUnmounts(const VolumePlace& place) const;

  const Deps deps_;
};

}  // namespace splitlet::pod_worker
