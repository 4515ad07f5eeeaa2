#include "libs/fs/mounts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "libs/base/fail_point.h"
#include "libs/fs/fd.h"
#include "libs/fs/last_error.h"
#include "libs/fs/open_within.h"

namespace splitlet::fs {
namespace {

constexpr mode_t kTargetDirMode = 0750, kTargetFileMode = 0640;

/// An existing target was made by an earlier call, or belongs to another part of the volume.
Status MakeTarget(const std::string& path, bool directory) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode) == directory) return OkStatus();
    if ((directory ? ::unlink(path.c_str()) : ::rmdir(path.c_str())) != 0) return LastError();
  }
  if (directory) return ::mkdir(path.c_str(), kTargetDirMode) == 0 ? OkStatus() : LastError();
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kTargetFileMode));
  return fd.ok() ? OkStatus() : LastError();
}

}  // namespace

StatusOr<bool> RealMounts::IsMountPoint(const std::string& path) {
  struct statx info {};
  // Does not contact the server of a network mount, which may not answer.
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (::statx(AT_FDCWD, path.c_str(), kFlags, 0, &info) != 0) return ErrnoStatus(errno);
  if ((info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0)
    return Unimplemented("the kernel does not report mount points (Linux 5.8 does)");
  return (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Status RealMounts::Mount(const MountRequest& request) {
  FAIL_POINT("fs.mount.before");
  const int failed = ::mount(request.type.c_str(), request.path.c_str(), request.type.c_str(), 0,
                             request.options.c_str());
  if (failed != 0) return ErrnoStatus(errno);
  FAIL_POINT("fs.mount.after");
  return OkStatus();
}

Status RealMounts::Unmount(const std::string& path) {
  FAIL_POINT("fs.unmount.before");
  // EINVAL: nothing is mounted there.
  if (::umount2(path.c_str(), UMOUNT_NOFOLLOW) != 0 && errno != EINVAL && errno != ENOENT) {
    const int why = errno;
    // Without the capability to unmount the kernel answers EPERM whether or not something is
    // mounted.
    if (why != EPERM) return ErrnoStatus(why);
    const auto mounted = IsMountPoint(path);
    if (!mounted.ok() && mounted.status().code() != StatusCode::kNotFound) return mounted.status();
    if (mounted.ok() && *mounted) return ErrnoStatus(why);
  }
  FAIL_POINT("fs.unmount.after");
  return OkStatus();
}

Status RealMounts::MakeWithin(const std::string& root, const std::string& path) {
  return OpenOrMakeWithin(root, path).status();
}

Status RealMounts::BindWithin(const BindRequest& request) {
  FAIL_POINT("fs.bind.before");
  const auto part = OpenOrMakeWithin(request.root, request.path);
  if (!part.ok()) return part.status();
  struct stat source {};
  if (::fstat(part->get(), &source) != 0) return LastError();
  const auto mounted = IsMountPoint(request.target);
  if (mounted.ok() && *mounted) {
    struct stat there {};
    if (::lstat(request.target.c_str(), &there) != 0) return LastError();
    if (there.st_dev == source.st_dev && there.st_ino == source.st_ino) return OkStatus();
    RETURN_IF_ERROR(Unmount(request.target), "unmount what was there");
  } else if (!mounted.ok() && mounted.status().code() != StatusCode::kNotFound) {
    return mounted.status();
  }
  RETURN_IF_ERROR(MakeTarget(request.target, S_ISDIR(source.st_mode)), "make target");
  const std::string opened = fmt::format("/proc/self/fd/{}", part->get());
  if (::mount(opened.c_str(), request.target.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return LastError();
  FAIL_POINT("fs.bind.after");
  return OkStatus();
}

}  // namespace splitlet::fs
