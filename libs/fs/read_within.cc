#include "libs/fs/read_within.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <cerrno>

#include "libs/fs/fd.h"
#include "libs/fs/openat2.h"

namespace splitlet::fs {
StatusOr<std::string> ReadWithin(const std::string& root, const std::string& path,
                                 uint64_t max_bytes) {
  const Fd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.ok()) return ErrnoStatus(errno);
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const auto named = OpenAt2(top, path, how);
  if (!named.ok()) return named.status();
  const auto fd = OpenRegularFile(*named);
  return fd.ok() ? ReadFile(*fd, max_bytes) : fd.status();
}

}  // namespace splitlet::fs
