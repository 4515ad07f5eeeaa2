#pragma once

/// nfs: a directory of a server, mounted for the pod by mount(8), which knows the helper of the
/// host. A server that does not answer holds up its own pod alone: every step has a deadline, and
/// the kernel's list of mounts is read instead of the mount.
/// Killed:  a helper of before may still mount; what it leaves is found in the list and unmounted.
/// Threads: any, one call for a volume at a time; blocks until a helper ends.
/// Errors:  "mount failed: <what the helper said>".
/// Source:  docs/behaviour/volumes.md, "NFS"; kubelet plugin nfs.

#include <string>
#include <vector>

#include "libs/fs/file_system.h"
#include "libs/process/run_program.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

class NfsVolume final : public VolumePlugin {
 public:
  struct Deps {
    fs::FileSystem& files;
    const process::ProgramRunner& run;  // empty: no kind of volume is mounted by a program
  };
  explicit NfsVolume(Deps deps) : deps_(deps) {}
  bool Takes(const VolumeSpec& spec) const override;
  std::string_view folder() const override { return "kubernetes.io~nfs"; }
  bool takes_mount_options() const override { return true; }
  Status SetUp(const VolumeSpec& spec, const VolumeInput& in, const VolumePlace& place) override;
  Status Release(const std::string& folder) override;
  Status TearDown(const VolumePlace& place) override;

 private:
  StatusOr<std::vector<std::string>> MountedBelow(const std::string& folder) const;
  Status Mount(const VolumeSpec& spec, const std::string& path) const;
  Status Unmount(const std::string& path) const;

  const Deps deps_;
};

}  // namespace splitlet::pod_worker
