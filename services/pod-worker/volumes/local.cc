#include "services/pod-worker/volumes/local.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fs/mount_table.h"
#include "libs/fs/path.h"
#include "libs/kube/names.h"
#include "services/pod-worker/volumes/claim.h"
#include "services/pod-worker/volumes/mounted_names.h"

namespace splitlet::pod_worker {

namespace {

using FileKind = fs::FileInfo::Kind;

constexpr const char* kReadOnly = "ro";
constexpr uint32_t kOfGroup = 02770;  // the least mode of a directory that was given to a group

SetUpResult NoMounter(const std::string& why) {
  return {VolumeStep::kMakeMounter, FailedPrecondition("{}", why)};
}

StatusOr<std::vector<std::string>> ReadMountPoints(fs::FileSystem& files) {
  const auto table = fs::ReadMountTable(files);
  if (!table.ok()) return table.status();
  return fs::ParseMountPoints(*table);
}

/// The mount point of the same volume in another pod's directory, below any root directory.
bool IsOfAnotherPod(const std::string& point, const std::string& path) {
  const std::string folder = fs::ParentOf(point);
  return point != path && fs::NameOf(point) == fs::NameOf(path) &&
         fs::NameOf(folder) == LocalVolume::kFolder && fs::ParentOf(folder).ends_with("/volumes");
}

/// The volume's mount options and the claim's read-only flag.
std::vector<std::string> OptionsOf(const VolumeSpec& spec) {
  auto options = spec.mount_options();
  if (spec.read_only()) options.emplace_back(kReadOnly);
  return options;
}

/// "<uid>/volumes/...", as in a kubelet's events.
std::string FromUidOn(const VolumePlace& place) {
  const size_t at = place.pod_uid.empty() ? std::string::npos : place.path.find(place.pod_uid);
  return at == std::string::npos ? place.path : place.path.substr(at);
}

bool AnotherPodHas(const std::vector<std::string>& points, const std::string& path) {
  return std::ranges::any_of(
      points, [&path](const std::string& point) { return IsOfAnotherPod(point, path); });
}

}  // namespace

SetUpResult CheckLocal(const std::string& directory, const StatusOr<fs::FileInfo>& there) {
  if (kube::HasParentStep(directory))
    return InvalidArgument("invalid path: {} must not contain '..'", directory);
  if (there.status().code() == StatusCode::kNotFound)
    return NoMounter(fmt::format("path \"{}\" does not exist", directory));
  if (!there.ok()) return NoMounter(fmt::format("{}: {}", directory, Message(there.status())));
  if (there->kind == FileKind::kDirectory) return Progress::kDone;
  if (there->kind != FileKind::kBlockDevice)
    return NoMounter("only directory and block device are supported");
  return NoMounter(
      fmt::format("block device {} is neither formatted nor mounted here: mount it on the host and "
                  "name the directory",
                  directory));
}

bool LocalVolume::Takes(const VolumeSpec& spec) const {
  const auto* source = spec.source();
  return source != nullptr && source->has_local();
}

Status LocalVolume::GiveToGroup(const std::string& directory, const VolumeInput& in,
                                const VolumePlace& place) const {
  const FsGroup group = FsGroupOf(in.pod);
  if (!group) return OkStatus();
  ASSIGN_OR_RETURN(const auto points, ReadMountPoints(deps_.files),
                   "read the kernel's list of mounts");
  if (AnotherPodHas(points, place.path)) return OkStatus();
  const bool unless_it_has =
      in.pod.spec().security_context().fs_group_change_policy() == "OnRootMismatch";
  if (unless_it_has && Matches(directory, *group)) return OkStatus();
  const auto info = deps_.files.Stat(directory, false);
  const bool link = info.ok() && info->kind == FileKind::kSymlink;
  SlowWalk walk(deps_.clock, FromUidOn(place), in.warn);
  deps_.dirs.GiveToGroup(link ? directory + "/." : directory, {.group = *group},
                         [&walk](uint64_t entries) { walk.OnEntry(entries); });
  return OkStatus();
}

/// The top directory is given last, so a directory that is given in part does not match.
bool LocalVolume::Matches(const std::string& directory, uint32_t group) const {
  const auto has = deps_.group_of(directory);
  return has.ok() && has->group == group && (has->mode & kOfGroup) == kOfGroup;
}

Status LocalVolume::Bind(const std::string& directory, const std::string& path) const {
  FAIL_POINT("pod-worker.bind-local.before");
  RETURN_IF_ERROR(deps_.mounts.BindWithin({.root = directory, .path = ".", .target = path}),
                  "bind {}", directory);
  FAIL_POINT("pod-worker.bind-local.after");
  return OkStatus();
}

/// At each set-up, because a killed process may not have come so far.
Status LocalVolume::SetOptions(const std::vector<std::string>& options,
                               const std::string& path) const {
  if (options.empty()) return OkStatus();
  if (deps_.run == nullptr) return Unimplemented("mount options need mount(8)");
  return Annotate(
      deps_
          .run({.argv = {"mount", "-o", fmt::format("remount,bind,{}", fmt::join(options, ",")),
                         path}})
          .status(),
      "mount options");
}

SetUpResult LocalVolume::SetUp(const VolumeSpec& spec, const VolumeInput& in,
                               const VolumePlace& place) {
  const std::string& directory = spec.source()->local().path();
  const std::string& path = place.path;
  const auto options = OptionsOf(spec);
  const auto mounted = deps_.mounts.IsMountPoint(path);
  if (!mounted.ok() && mounted.status().code() != StatusCode::kNotFound)
    return Annotate(mounted.status(), "read the kernel's list of mounts");
  if (!mounted.ok() || !*mounted) {
    auto usable = CheckLocal(directory, deps_.files.Stat(directory, true));
    if (!usable.ok()) return usable;
    const bool read_only = std::ranges::find(options, kReadOnly) != options.end();
    if (!read_only) RETURN_IF_ERROR(GiveToGroup(directory, in, place), "group");
    RETURN_IF_ERROR(Bind(directory, path), "mount");
  }
  return Done(SetOptions(options, path));
}

/// Never removes the content.
StatusOr<Progress> LocalVolume::TearDown(const VolumePlace& place) {
  const std::string& path = place.path;
  FAIL_POINT("pod-worker.unbind-local.before");
  RETURN_IF_ERROR(deps_.mounts.Unmount(path), "unmount {}", path);
  FAIL_POINT("pod-worker.unbind-local.after");
  return Done(Annotate(deps_.files.Remove(path), "remove directory"));
}

std::vector<std::string> VolumesOfOtherGroups(const VolumeInput& in, const GroupCheck& check) {
  std::vector<std::string> texts;
  const FsGroup group = FsGroupOf(in.pod);
  if (!group || in.objects == nullptr) return texts;
  const std::set<std::string> mounted = MountedNames(in.pod);
  for (const auto& volume : in.pod.spec().volumes()) {
    if (!mounted.contains(volume.name()) || ClaimNameOf(volume, in.pod).empty()) continue;
    const auto found = VolumeOfClaim(volume, in.pod, *in.objects);
    if (!found.ok()) continue;
    const auto& source = found->volume->spec().persistent_volume_source();
    if (!source.has_local()) continue;
    const std::string& name = found->volume->metadata().name();
    const std::string path =
        fmt::format("{}/volumes/{}/{}", check.pod_dir, LocalVolume::kFolder, name);
    const auto points = ReadMountPoints(check.files);
    if (!points.ok() || std::ranges::find(*points, path) != points->end()) continue;
    if (!AnotherPodHas(*points, path)) continue;
    const auto theirs = check.group_of(source.local().path());
    if (!theirs.ok() || theirs->group == *group) continue;
    texts.push_back(
        fmt::format("The requested fsGroup is {}, but the volume {} has GID {}. The volume may not "
                    "be shareable.",
                    *group, name, theirs->group));
  }
  return texts;
}

}  // namespace splitlet::pod_worker
