#include "libs/fs/fake_mounts.h"

#include <algorithm>
#include <deque>

#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

constexpr int kMaxLinks = 40;

/// The path itself must not leave the root, whatever its links do.
bool StepsOut(const std::vector<std::string>& names) {
  int depth = 0;
  return std::ranges::any_of(
      names, [&depth](const auto& name) { return (depth += name == ".." ? -1 : 1) < 0; });
}

/// Resolves links as open(2) does; the result is below the root.
StatusOr<std::string> ResolveBeneath(FakeFileSystem& files, const std::string& root,
                                     const std::string& path) {
  const auto first = NamesOf(path);
  if (StepsOut(first)) return OutOfRange("it leads out");
  std::deque<std::string> left(first.begin(), first.end());
  std::string reached = root;
  for (int links = 0; !left.empty();) {
    const std::string name = std::move(left.front());
    left.pop_front();
    if (name == "..") {
      reached.resize(reached.empty() ? 0 : reached.rfind('/'));
      continue;
    }
    const auto target = files.ReadSymlink(reached + "/" + name);
    if (!target.ok()) {
      reached += "/" + name;
      continue;
    }
    if (++links > kMaxLinks) return OutOfRange("its links are dangling");
    if (target->starts_with("/")) reached.clear();
    const auto names = NamesOf(*target);
    left.insert(left.begin(), names.begin(), names.end());
  }
  if (reached != root && !reached.starts_with(root + "/")) return OutOfRange("it leads out");
  return reached;
}

}  // namespace

Status FakeMounts::Mount(const MountRequest& request) {
  RETURN_IF_ERROR(mount_error_, "mount");
  RETURN_IF_ERROR(files_.Stat(request.path, false), "stat");
  mounted_[request.path] = request;
  files_.SetMountPoint(request.path);
  return OkStatus();
}

Status FakeMounts::MakeWithin(const std::string& root, const std::string& path) {
  const auto part = ResolveBeneath(files_, root, path);
  if (!part.ok()) return part.status();
  const Status there = files_.Stat(*part, false).status();
  if (there.code() != StatusCode::kNotFound) return there;
  RETURN_IF_ERROR(files_.Stat(root, true), "stat");
  return files_.MakeDirs(*part, 0777);
}

Status FakeMounts::BindWithin(const BindRequest& request) {
  RETURN_IF_ERROR(mount_error_, "mount");
  RETURN_IF_ERROR(MakeWithin(request.root, request.path), "make");
  ASSIGN_OR_RETURN(const auto source, ResolveBeneath(files_, request.root, request.path),
                   "resolve");
  const auto info = files_.Stat(source, false);
  RETURN_IF_ERROR(info, "stat");
  const auto there = mounted_.find(request.target);
  if (there != mounted_.end() && there->second.options == source) return OkStatus();
  RETURN_IF_ERROR(Unmount(request.target), "unmount what was there");
  RETURN_IF_ERROR(files_.Remove(request.target), "remove target");
  RETURN_IF_ERROR(info->kind == FileInfo::Kind::kDirectory
                      ? files_.MakeDirs(request.target, 0750)
                      : files_.Replace(request.target, "", {.mode = 0640}),
                  "make target");
  return Mount({.type = "bind", .path = request.target, .options = source});
}

Status FakeMounts::Unmount(const std::string& path) {
  RETURN_IF_ERROR(unmount_error_, "unmount");
  if (mounted_.erase(path) != 0) files_.EndMountPoint(path);
  return OkStatus();
}

}  // namespace splitlet::fs
