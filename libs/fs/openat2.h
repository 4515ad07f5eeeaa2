#pragma once

/// openat2(2), repeated while something on the way is being renamed. Where the kernel or a sandbox
/// lacks the call there is no replacement: no other call stays on one mount and below one folder
/// without contacting a mount's server.
/// Threads: any; blocks on the disk.
/// Errors:  by errno; UNIMPLEMENTED if this process cannot use the call.

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::fs {

/// True for an errno of a missing call. Filters of system calls answer with one of these two.
inline Status OpenAt2Error(int error) {
  if (error != ENOSYS && error != EPERM) return ErrnoStatus(error);
  return Unimplemented("openat2: {}: it needs Linux 5.6, and a sandbox that lets it through",
                       Message(ErrnoStatus(error)));
}

/// Gives up after a number of renames, so that a hostile renamer gains nothing.
inline StatusOr<Fd> OpenAt2(const Fd& top, const std::string& path, const open_how& how) {
  constexpr int kMaxTries = 16;
  for (int tries = 0;; ++tries) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof(how))));
    if (fd.ok()) return fd;
    if (errno != EAGAIN || tries == kMaxTries) return OpenAt2Error(errno);
  }
}

}  // namespace splitlet::fs
