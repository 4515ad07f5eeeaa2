#include "services/pod-worker/volumes/nfs.h"

#include <fmt/ranges.h>

#include <array>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/mount_table.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kMode = 0750;
/// Deadlines for a server that does not answer.
constexpr Duration kMountLimit = std::chrono::minutes{2}, kUnmountLimit = std::chrono::minutes{1};

/// The ways of umount(8), tried in this order: plain, by force, and lazily, so that the kernel
/// unmounts when it can.
constexpr std::array<const char*, 3> kUnmountFlags = {"", "-f", "-l"};

process::Program MountProgram(const VolumeSpec& spec, const std::string& path) {
  const auto* behind = spec.source();
  const auto& nfs = behind != nullptr ? behind->nfs() : spec.own().nfs();
  std::vector<std::string> options = spec.mount_options();
  if (nfs.read_only() || spec.read_only()) options.emplace_back("ro");
  process::Program mount{.argv = {"mount", "-t", "nfs"}, .limit = kMountLimit};
  if (!options.empty())
    mount.argv.insert(mount.argv.end(), {"-o", fmt::format("{}", fmt::join(options, ","))});
  mount.argv.insert(mount.argv.end(), {"--", fmt::format("{}:{}", nfs.server(), nfs.path()), path});
  return mount;
}

process::Program UnmountProgram(const std::string& flag, const std::string& path) {
  process::Program unmount{.argv = {"umount"}, .limit = kUnmountLimit};
  if (!flag.empty()) unmount.argv.push_back(flag);
  unmount.argv.push_back(path);
  return unmount;
}

process::ProgramKey MountKey(const VolumePlace& place) {
  return {place.pod_uid, "mount " + place.path};
}

process::ProgramKey UnmountKey(const std::string& pod_uid, const std::string& flag,
                               const std::string& path) {
  return {pod_uid, fmt::format("umount {} {}", flag, path)};
}

}  // namespace

bool NfsVolume::Takes(const VolumeSpec& spec) const {
  const auto* behind = spec.source();
  return deps_.programs != nullptr &&
         (behind != nullptr ? behind->has_nfs() : spec.own().has_nfs());
}

StatusOr<std::vector<std::string>> NfsVolume::MountedBelow(const std::string& folder) const {
  const auto table = fs::ReadMountTable(deps_.files);
  if (!table.ok()) return table.status();
  return fs::MountPointsBelow(*table, folder);
}

StatusOr<Progress> NfsVolume::Mount(const VolumeSpec& spec, const VolumePlace& place) const {
  const auto key = MountKey(place);
  const auto mount = MountProgram(spec, place.path);
  if (!deps_.programs->Knows(key)) FAIL_POINT("pod-worker.mount-nfs.before");
  auto ended = deps_.programs->Run(key, mount);
  if (ended && ended->status().code() == StatusCode::kAborted) {
    // A program of an earlier process: the kernel's list shows its outcome.
    ASSIGN_OR_RETURN(const auto mounted, MountedBelow(place.path),
                     "read the kernel's list of mounts");
    if (!mounted.empty()) return Progress::kDone;
    ended = deps_.programs->Run(key, mount);
  }
  if (!ended) return Progress::kUnderWay;
  RETURN_IF_ERROR(*ended, "mount failed");
  FAIL_POINT("pod-worker.mount-nfs.after");
  return Progress::kDone;
}

SetUpResult NfsVolume::SetUp(const VolumeSpec& spec, const VolumeInput&, const VolumePlace& place) {
  const auto key = MountKey(place);
  if (!deps_.programs->Knows(key)) {
    // Unmounts of the pod's earlier incarnation.
    if (!ForgetUnmounts(place)) return Progress::kUnderWay;
    ASSIGN_OR_RETURN(const auto mounted, MountedBelow(place.path),
                     "read the kernel's list of mounts");
    if (!mounted.empty()) return Progress::kDone;
    RETURN_IF_ERROR(deps_.files.MakeDirs(place.path, kMode), "make directory");
  }
  auto made = Mount(spec, place);
  // A mount point that cannot be removed now goes with the pod.
  if (!made.ok() && !deps_.programs->Knows(key)) TearDown(place).IgnoreError();
  return made;
}

/// Continues with the last way that was begun.
StatusOr<Progress> NfsVolume::Unmount(const std::string& pod_uid, const std::string& path) const {
  const auto key = [&](size_t way) { return UnmountKey(pod_uid, kUnmountFlags[way], path); };
  size_t way = kUnmountFlags.size() - 1;
  while (way > 0 && !deps_.programs->Knows(key(way))) --way;
  Status late;
  for (; way < kUnmountFlags.size(); ++way) {
    if (!deps_.programs->Knows(key(way))) FAIL_POINT("pod-worker.unmount-nfs.before");
    const auto ended = deps_.programs->Run(key(way), UnmountProgram(kUnmountFlags[way], path));
    if (!ended) return Progress::kUnderWay;
    late = ended->status();
    if (late.code() != StatusCode::kDeadlineExceeded) break;
  }
  RETURN_IF_ERROR(late, "unmount");
  FAIL_POINT("pod-worker.unmount-nfs.after");
  return Progress::kDone;
}

/// Forgets all ways. False: one of them hangs in the kernel and may still unmount.
bool NfsVolume::ForgetUnmounts(const VolumePlace& place) const {
  bool forgotten = true;
  for (const char* flag : kUnmountFlags)
    forgotten = deps_.programs->Forget(UnmountKey(place.pod_uid, flag, place.path)) && forgotten;
  return forgotten;
}

/// Unmounts the last mount first, and each mount point as often as it was mounted.
StatusOr<Progress> NfsVolume::Release(const VolumePlace& folder) {
  if (deps_.files.Stat(folder.path, false).status().code() == StatusCode::kNotFound)
    return Progress::kDone;
  ASSIGN_OR_RETURN(auto mounted, MountedBelow(folder.path), "read the kernel's list of mounts");
  for (; !mounted.empty(); mounted.pop_back()) {
    ASSIGN_OR_RETURN(const Progress gone, Unmount(folder.pod_uid, mounted.back()), "{}",
                     mounted.back());
    if (gone == Progress::kUnderWay) return gone;
  }
  return Progress::kDone;
}

/// Never removes the content, which is the server's. Waits for a running mount, which may still
/// succeed.
StatusOr<Progress> NfsVolume::TearDown(const VolumePlace& place) {
  if (!deps_.programs->Forget(MountKey(place))) return Progress::kUnderWay;
  ASSIGN_OR_RETURN(const Progress released, Release(place), "release");
  if (released == Progress::kUnderWay) return released;
  // Nothing is mounted any more: an unmount that still hangs in the kernel has nothing to unmount.
  ForgetUnmounts(place);
  return Done(Annotate(deps_.files.Remove(place.path), "remove directory"));
}

}  // namespace splitlet::pod_worker
