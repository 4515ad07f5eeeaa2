#include "services/pod-worker/volumes/nfs.h"

#include <fmt/ranges.h>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/mount_table.h"
#include "services/pod-worker/volumes/mount_table.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kMode = 0750;
/// Of a server that does not answer.
constexpr Duration kMountLimit = std::chrono::minutes{2}, kUnmountLimit = std::chrono::minutes{1};

}  // namespace

bool NfsVolume::Takes(const VolumeSource& source) const {
  return source.has_nfs() && deps_.run != nullptr;
}

StatusOr<std::vector<std::string>> NfsVolume::MountedBelow(const std::string& folder) const {
  const auto table = ReadMountTable(deps_.files);
  if (!table.ok()) return table.status();
  return fs::MountPointsBelow(*table, folder);
}

Status NfsVolume::Mount(const kube::Volume& volume, const VolumeInput& in,
                        const std::string& path) const {
  const auto& nfs = volume.volume_source().nfs();
  std::vector<std::string> options = in.mount_options;
  if (nfs.read_only()) options.emplace_back("ro");
  process::Program mount{.argv = {"mount", "-t", "nfs"}, .limit = kMountLimit};
  if (!options.empty())
    mount.argv.insert(mount.argv.end(), {"-o", fmt::format("{}", fmt::join(options, ","))});
  mount.argv.insert(mount.argv.end(), {"--", fmt::format("{}:{}", nfs.server(), nfs.path()), path});
  FAIL_POINT("pod-worker.mount-nfs.before");
  RETURN_IF_ERROR(deps_.run(mount), "mount failed");
  FAIL_POINT("pod-worker.mount-nfs.after");
  return OkStatus();
}

Status NfsVolume::SetUp(const kube::Volume& volume, const VolumeInput& in,
                        const std::string& path) {
  ASSIGN_OR_RETURN(const auto mounted, MountedBelow(path), "look for its mount");
  if (!mounted.empty()) return OkStatus();
  RETURN_IF_ERROR(deps_.files.MakeDirs(path, kMode), "make directory");
  Status made = Mount(volume, in, path);
  // What cannot be taken away now goes with the pod.
  if (!made.ok()) TearDown(path).IgnoreError();
  return made;
}

Status NfsVolume::Unmount(const std::string& path) const {
  FAIL_POINT("pod-worker.unmount-nfs.before");
  const auto plain = deps_.run({.argv = {"umount", path}, .limit = kUnmountLimit});
  if (plain.status().code() == StatusCode::kDeadlineExceeded)
    RETURN_IF_ERROR(deps_.run({.argv = {"umount", "-f", path}, .limit = kUnmountLimit}),
                    "unmount by force");
  else
    RETURN_IF_ERROR(plain, "unmount");
  FAIL_POINT("pod-worker.unmount-nfs.after");
  return OkStatus();
}

/// What was mounted last is the first to go, as often as it was mounted.
Status NfsVolume::Release(const std::string& folder) {
  if (deps_.files.Stat(folder, false).status().code() == StatusCode::kNotFound) return OkStatus();
  ASSIGN_OR_RETURN(auto mounted, MountedBelow(folder), "look for mounts");
  for (; !mounted.empty(); mounted.pop_back())
    RETURN_IF_ERROR(Unmount(mounted.back()), "{}", mounted.back());
  return OkStatus();
}

/// Never what is in it: that is the server's.
Status NfsVolume::TearDown(const std::string& path) {
  RETURN_IF_ERROR(Release(path), "release");
  return Annotate(deps_.files.Remove(path), "remove directory");
}

}  // namespace splitlet::pod_worker
