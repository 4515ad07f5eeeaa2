#include "libs/fs/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "libs/fs/fd.h"

namespace splitlet::fs {

Status MakeNewFile(const std::string& path, uint32_t mode) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.ok()) return errno == EEXIST ? OkStatus() : ErrnoStatus(errno);
  return ::fchmod(fd.get(), mode) == 0 ? OkStatus() : ErrnoStatus(errno);
}

}  // namespace splitlet::fs
