#include "libs/fs/group_of.h"

#include <sys/stat.h>

#include <cerrno>

namespace splitlet::fs {

StatusOr<OfGroup> GroupOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno);
  return OfGroup{info.st_gid, info.st_mode & 07777U};
}

}  // namespace splitlet::fs
