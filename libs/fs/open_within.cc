#include "libs/fs/open_within.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "libs/fs/fd.h"
#include "libs/fs/last_error.h"
#include "libs/fs/openat2.h"
#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

StatusOr<Fd> OpenBeneath(const Fd& top, const std::string& path, uint64_t flags) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return OpenAt2(top, path, how);
}

/// The kernel's mode of a new directory is cut by the umask, this one is not. What is not ours is
/// left as it is: somebody made it meanwhile.
StatusOr<Fd> MakeDirectory(const Fd& parent, const std::string& name, mode_t mode) {
  if (::mkdirat(parent.get(), name.c_str(), mode) != 0) return LastError();
  Fd fd(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.ok() || ::fchmod(fd.get(), mode) != 0) return LastError();
  return fd;
}

/// Each step is looked up from the top again: what is opened was below it at that moment, and a
/// directory is made in what is open.
StatusOr<Fd> MakeBeneath(const Fd& top, const std::vector<std::string>& names) {
  struct stat info {};
  if (::fstat(top.get(), &info) != 0) return LastError();
  const mode_t mode = info.st_mode & (S_ISGID | S_ISVTX | 0777);
  Fd dir(::fcntl(top.get(), F_DUPFD_CLOEXEC, 0));
  if (!dir.ok()) return LastError();
  std::string path;
  for (const auto& name : names) {
    path += (path.empty() ? "" : "/") + name;
    auto next = OpenBeneath(top, path, O_DIRECTORY);
    if (next.status().code() == StatusCode::kNotFound) {
      next = MakeDirectory(dir, name, mode);
      if (next.status().code() == StatusCode::kAlreadyExists)
        next = OpenBeneath(top, path, O_DIRECTORY);
    }
    if (!next.ok()) return next.status();
    dir = *std::move(next);
  }
  return dir;
}

}  // namespace

StatusOr<Fd> OpenOrMakeWithin(const std::string& root, const std::string& path_below) {
  const Fd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.ok()) return LastError();
  const std::vector<std::string> names = NamesOf(path_below);
  const std::string path = names.empty() ? "." : fmt::format("{}", fmt::join(names, "/"));
  auto part = OpenBeneath(top, path, 0);
  if (part.status().code() == StatusCode::kNotFound) part = MakeBeneath(top, names);
  return part;
}

}  // namespace splitlet::fs
