#include "services/pod-worker/volumes/nfs.h"

#include <fmt/ranges.h>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/mount_table.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kMode = 0750;
/// Of a server that does not answer.
constexpr Duration kMountLimit = std::chrono::minutes{2}, kUnmountLimit = std::chrono::minutes{1};

}  // namespace

bool NfsVolume::Takes(const VolumeSpec& spec) const {
  const auto* behind = spec.source();
  return deps_.run != nullptr && (behind != nullptr ? behind->has_nfs() : spec.own().has_nfs());
}

StatusOr<std::vector<std::string>> NfsVolume::MountedBelow(const std::string& folder) const {
  const auto table = fs::ReadMountTable(deps_.files);
  if (!table.ok()) return table.status();
  return fs::MountPointsBelow(*table, folder);
}

Status NfsVolume::Mount(const VolumeSpec& spec, const std::string& path) const {
  const auto* behind = spec.source();
  const auto& nfs = behind != nullptr ? behind->nfs() : spec.own().nfs();
  std::vector<std::string> options = spec.mount_options();
  if (nfs.read_only() || spec.read_only()) options.emplace_back("ro");
  process::Program mount{.argv = {"mount", "-t", "nfs"}, .limit = kMountLimit};
  if (!options.empty())
    mount.argv.insert(mount.argv.end(), {"-o", fmt::format("{}", fmt::join(options, ","))});
  mount.argv.insert(mount.argv.end(), {"--", fmt::format("{}:{}", nfs.server(), nfs.path()), path});
  FAIL_POINT("pod-worker.mount-nfs.before");
  RETURN_IF_ERROR(deps_.run(mount), "mount failed");
  FAIL_POINT("pod-worker.mount-nfs.after");
  return OkStatus();
}

Status NfsVolume::SetUp(const VolumeSpec& spec, const VolumeInput&, const VolumePlace& place) {
  const std::string& path = place.path;
  ASSIGN_OR_RETURN(const auto mounted, MountedBelow(path), "look for its mount");
  if (!mounted.empty()) return OkStatus();
  RETURN_IF_ERROR(deps_.files.MakeDirs(path, kMode), "make directory");
  Status made = Mount(spec, path);
  // What cannot be taken away now goes with the pod.
  if (!made.ok()) TearDown(place).IgnoreError();
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
Status NfsVolume::TearDown(const VolumePlace& place) {
  RETURN_IF_ERROR(Release(place.path), "release");
  return Annotate(deps_.files.Remove(place.path), "remove directory");
}

}  // namespace splitlet::pod_worker
