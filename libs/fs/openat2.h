#pragma once

/// openat2(2), again where something on the way was renamed meanwhile.
/// Threads: any; blocks on the disk.
/// Errors:  by errno.

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::fs {

/// Who keeps renaming what is on the way gets nothing.
inline StatusOr<Fd> OpenAt2(const Fd& top, const std::string& path, const open_how& how) {
  constexpr int kMaxTries = 16;
  for (int tries = 0;; ++tries) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof(how))));
    if (fd.ok()) return fd;
    if (errno != EAGAIN || tries == kMaxTries) return ErrnoStatus(errno);
  }
}

}  // namespace splitlet::fs
