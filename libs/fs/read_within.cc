#include "libs/fs/read_within.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "libs/fs/fd.h"

namespace splitlet::fs {
namespace {

constexpr int kMaxTries = 16;

}  // namespace

StatusOr<std::string> ReadWithin(const std::string& root, const std::string& path,
                                 uint64_t max_bytes) {
  const Fd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.ok()) return ErrnoStatus(errno);
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0;; ++tries) {
    const Fd fd(
        static_cast<int>(::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof(how))));
    if (fd.ok()) return ReadFile(fd, max_bytes);
    // Something on the way was renamed meanwhile; who keeps doing so has no file.
    if (errno != EAGAIN || tries == kMaxTries) return ErrnoStatus(errno);
  }
}

}  // namespace splitlet::fs
