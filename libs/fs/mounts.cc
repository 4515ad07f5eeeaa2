#include "libs/fs/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>

#include "libs/base/fail_point.h"

namespace splitlet::fs {

StatusOr<bool> RealMounts::IsMountPoint(const std::string& path) {
  struct statx info {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &info) != 0)
    return ErrnoStatus(errno);
  if ((info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0)
    return Unimplemented("the kernel does not tell mount points (Linux 5.8 does)");
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
    // Who may not unmount is told so whether or not there is something to unmount.
    if (why != EPERM) return ErrnoStatus(why);
    const auto mounted = IsMountPoint(path);
    if (!mounted.ok() && mounted.status().code() != StatusCode::kNotFound) return mounted.status();
    if (mounted.ok() && *mounted) return ErrnoStatus(why);
  }
  FAIL_POINT("fs.unmount.after");
  return OkStatus();
}

}  // namespace splitlet::fs
