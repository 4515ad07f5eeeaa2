#include "libs/fs/write_in_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "libs/fs/fd.h"

namespace splitlet::fs {

Status WriteInPlace(const std::string& path, std::string_view value) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.ok()) return ErrnoStatus(errno);
  const ssize_t wrote = ::write(fd.get(), value.data(), value.size());
  if (wrote < 0) return ErrnoStatus(errno);
  if (static_cast<size_t>(wrote) != value.size()) return DataLoss("only partly written");
  return OkStatus();
}

}  // namespace splitlet::fs
