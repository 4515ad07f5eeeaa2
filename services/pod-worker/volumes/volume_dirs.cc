#include "services/pod-worker/volumes/volume_dirs.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/fs/path.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint32_t kVolumeMode = 0777;

std::string Options(const std::string& first, FsGroup group, std::string_view mode) {
  std::string options = first;
  if (group) options += fmt::format("{}gid={},mode={}", options.empty() ? "" : ",", *group, mode);
  return options;
}

}  // namespace

FsGroup FsGroupOf(const kube::Pod& pod) {
  const auto& context = pod.spec().security_context();
  if (!context.has_fs_group()) return std::nullopt;
  return static_cast<uint32_t>(context.fs_group());
}

/// MakeDirs sets the mode after it has made the directory, because of the umask. The rename at the
/// end gives the name only to a finished directory.
Status VolumeDirs::EnsureOnDisk(const std::string& path, FsGroup group) {
  const auto there = deps_.files.Stat(path, false);
  if (there.status().code() != StatusCode::kNotFound)
    return Annotate(deps_.files.MakeDirs(path, kVolumeMode), "make directory");
  const std::string beside = fs::NewContentPath(path);
  RETURN_IF_ERROR(deps_.files.RemoveTree(beside), "remove an unfinished directory");
  RETURN_IF_ERROR(deps_.files.MakeDirs(beside, kVolumeMode), "make directory");
  if (group) GiveToGroup(beside, {*group});
  return Annotate(deps_.files.Rename(beside, path), "name directory");
}

void VolumeDirs::GiveToGroup(const std::string& path, fs::GroupAccess access,
                             const fs::Ownership::OnEntry& on_entry) {
  const auto change = deps_.ownership.GiveToGroup(path, access, on_entry);
  const Status& why = change.ok() ? change->first_failure : change.status();
  if (!change.ok() || change->failed > 0)
    deps_.log.Warn("cannot give all of a volume to the group of its pod, mounting it anyway",
                   {KV("path", path), KV("fsGroup", access.group),
                    KV("entries", change.ok() ? change->failed : 0), KV("err", why)});
}

void VolumeDirs::GiveToUser(const std::string& path, uint32_t user) {
  const Status given = deps_.ownership.GiveToUser(path, user);
  if (!given.ok())
    deps_.log.Warn("cannot give a file of a volume to the user of its pod, showing it anyway",
                   {KV("path", path), KV("user", user), KV("err", given)});
}

Status VolumeDirs::EnsureMounted(fs::MountRequest request) {
  RETURN_IF_ERROR(deps_.files.MakeDirs(request.path, kVolumeMode), "make directory");
  ASSIGN_OR_RETURN(const bool mounted, deps_.mounts.IsMountPoint(request.path),
                   "check for its mount");
  return mounted ? OkStatus() : deps_.mounts.Mount(request);
}

Status VolumeDirs::EnsureTmpfs(const std::string& path, int64_t bytes, FsGroup group) {
  const auto ensure = [&](std::string_view swap) {
    std::string options = bytes > 0 ? fmt::format("size={}", bytes) : "";
    if (!swap.empty()) options += (options.empty() ? "" : ",") + std::string(swap);
    // The kernel's own mode is 01777.
    return EnsureMounted(
        {.type = "tmpfs", .path = path, .options = Options(options, group, "3777")});
  };
  const Status made = ensure("noswap");
  // Linux before 6.4 does not know the option.
  return Annotate(made.code() == StatusCode::kInvalidArgument ? ensure("") : made, "mount tmpfs");
}

Status VolumeDirs::EnsureHugePages(const std::string& path, const std::string& page_size,
                                   FsGroup group) {
  // The kernel's own mode is 0755.
  return Annotate(
      EnsureMounted({.type = "hugetlbfs",
                     .path = path,
                     .options = Options(fmt::format("pagesize={}", page_size), group, "2775")}),
      "mount hugetlbfs");
}

Status VolumeDirs::Remove(const std::string& path) {
  RETURN_IF_ERROR(deps_.mounts.Unmount(path), "unmount {}", path);
  return Annotate(deps_.files.RemoveTree(path), "remove");
}

}  // namespace splitlet::pod_worker
