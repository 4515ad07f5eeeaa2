#pragma once

/// openat2(2), again where something on the way was renamed meanwhile. There is nothing in its
/// place where a kernel or a sandbox does not have it: no other call stays on one mount and below
/// one folder without asking whoever serves what is mounted there.
/// Threads: any; blocks on the disk.
/// Errors:  by errno; UNIMPLEMENTED where this process cannot have the call.

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::fs {

/// Of an errno of the call. Filters of system calls answer with either of these two.
inline Status OpenAt2Error(int error) {
  if (error != ENOSYS && error != EPERM) return ErrnoStatus(error);
  return Unimplemented("openat2: {}: it needs Linux 5.6, and a sandbox that lets it through",
                       Message(ErrnoStatus(error)));
}

/// Who keeps renaming what is on the way gets nothing.
inline StatusOr<Fd> OpenAt2(const Fd& top, const std::string& path, const open_how& how) {
  constexpr int kMaxTries = 16;
  for (int tries = 0;; ++tries) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof(how))));
    if (fd.ok()) return fd;
    if (errno != EAGAIN || tries == kMaxTries) return OpenAt2Error(errno);
  }
}

}  // namespace splitlet::fs
