#include "libs/fs/open_within.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "libs/fs/fd.h"
#include "libs/fs/last_error.h"
#include "libs/fs/openat2.h"
#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

constexpr uint64_t kLinksWithin = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
constexpr uint64_t kNoLinks = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;

struct Part {
  const Fd& top;
  std::vector<std::string> names;  // from the top on
  uint64_t resolve;
};

StatusOr<Fd> OpenBeneath(const Part& part, size_t count, uint64_t flags) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = part.resolve;
  const auto end = part.names.begin() + static_cast<std::ptrdiff_t>(count);
  return OpenAt2(part.top, fmt::format("./{}", fmt::join(part.names.begin(), end, "/")), how);
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
StatusOr<Fd> MakeBeneath(const Part& part) {
  struct stat info {};
  if (::fstat(part.top.get(), &info) != 0) return LastError();
  const mode_t mode = info.st_mode & (S_ISGID | S_ISVTX | 0777);
  Fd dir(::fcntl(part.top.get(), F_DUPFD_CLOEXEC, 0));
  if (!dir.ok()) return LastError();
  for (size_t count = 1; count <= part.names.size(); ++count) {
    auto next = OpenBeneath(part, count, O_DIRECTORY);
    if (next.status().code() == StatusCode::kNotFound) {
      next = MakeDirectory(dir, part.names[count - 1], mode);
      if (next.status().code() == StatusCode::kAlreadyExists)
        next = OpenBeneath(part, count, O_DIRECTORY);
    }
    if (!next.ok()) return next.status();
    dir = *std::move(next);
  }
  return dir;
}

StatusOr<Fd> OpenOrMake(const Part& part) {
  auto opened = OpenBeneath(part, part.names.size(), 0);
  if (opened.status().code() == StatusCode::kNotFound) return MakeBeneath(part);
  return opened;
}

/// With all links followed, wherever they lead.
StatusOr<std::string> RealPath(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (error) return ErrnoStatus(error.value());
  return real.string();
}

/// Where the names lead to on this machine, as names below the root again; those at the end where
/// nothing is stay. True only for a moment: whoever opens it follows no link any more.
StatusOr<std::vector<std::string>> ResolveOnHost(const std::string& root,
                                                 const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const auto top, RealPath(root), "resolve the root");
  size_t count = names.size();
  StatusOr<std::string> there = NotFound("nothing");
  for (;; --count) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(count);
    there = RealPath(fmt::format("{}/{}", root, fmt::join(names.begin(), end, "/")));
    if (there.status().code() != StatusCode::kNotFound || count == 0) break;
  }
  RETURN_IF_ERROR(there, "resolve");
  const std::string inside = top == "/" ? top : top + "/";
  if (*there != top && !there->starts_with(inside)) return PermissionDenied("it leads out");
  auto resolved = NamesOf(there->substr(std::min(there->size(), inside.size())));
  resolved.insert(resolved.end(), names.begin() + static_cast<std::ptrdiff_t>(count), names.end());
  return resolved;
}

}  // namespace

StatusOr<Fd> OpenOrMakeWithin(const std::string& root, const std::string& path_below) {
  const Fd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.ok()) return LastError();
  const std::vector<std::string> names = NamesOf(path_below);
  auto part = OpenOrMake({top, names, kLinksWithin});
  if (part.ok() || std::ranges::find(names, "..") != names.end()) return part;
  // To the kernel an absolute link leads out, and one that leaves the root on its way back.
  auto resolved = ResolveOnHost(root, names);
  if (!resolved.ok()) return resolved.status();
  return OpenOrMake({top, *std::move(resolved), kNoLinks});
}

}  // namespace splitlet::fs
