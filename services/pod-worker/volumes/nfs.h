#pragma once

/// nfs: a directory of a server, mounted for the pod by mount(8), which knows the helper of the
/// host. A server that does not answer holds up its own pod alone, and no thread: mount(8) and
/// umount(8) run beside, each with a deadline, and the kernel's list of mounts is read instead of
/// the mount.
/// Killed:  a mount or unmount of before goes on; the next start finds it and waits for its end.
/// Threads: any, one call for a volume at a time; none waits for a server.
/// Errors:  "mount failed: <what the helper said>".
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
    process::Programs* programs;  // null: no kind of volume is mounted by a program
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
