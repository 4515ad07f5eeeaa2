#include "libs/fs/open_within.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <optional>
#include <utility>
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
  std::vector<std::string> names;  // names from the top down
  uint64_t resolve;
};

StatusOr<Fd> OpenBeneath(const Part& part, size_t count, uint64_t flags) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = part.resolve;
  const auto end = part.names.begin() + static_cast<std::ptrdiff_t>(count);
  return OpenAt2(part.top, fmt::format("./{}", fmt::join(part.names.begin(), end, "/")), how);
}

/// Sets the mode whatever the umask. A directory that another program made keeps its mode.
StatusOr<Fd> MakeDirectory(const Fd& parent, const std::string& name, mode_t mode) {
  if (::mkdirat(parent.get(), name.c_str(), mode) != 0) return LastError();
  Fd fd(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.ok() || ::fchmod(fd.get(), mode) != 0) return LastError();
  return fd;
}

/// Resolves each step from the top again: the opened directory was below the top at that moment,
/// and the next one is created inside of it.
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

Status LeadsOut() { return OutOfRange("it leads out"); }

/// The kernel's path of an open descriptor; reads only /proc.
StatusOr<std::string> NameOfOpen(const Fd& fd) {
  std::string name(PATH_MAX, '\0');
  const std::string link = fmt::format("/proc/self/fd/{}", fd.get());
  const ssize_t size = ::readlink(link.c_str(), name.data(), name.size());
  if (size < 0) return LastError();
  name.resize(static_cast<size_t>(size));
  return name;
}

/// Follows links as this machine resolves them, name by name from the root on. Outside of the root
/// it only compares names with the root's path: it accesses no file there, so that the maker of the
/// links learns nothing and no mount can delay the call.
class Walk {
 public:
  /// `given` and `real` name the root; `real` contains no link.
  Walk(const Fd& top, std::vector<std::string> given, std::vector<std::string> real)
      : top_(top), given_(std::move(given)), real_(std::move(real)) {}

  /// Names below the root, including those of missing directories at the end. The tree may change
  /// right after, so the caller opens the names without following links.
  StatusOr<std::vector<std::string>> Resolve(const std::vector<std::string>& names) {
    left_.assign(names.begin(), names.end());
    size_t own = names.size();  // names of the path itself; names before them come from a link
    for (int links = 0; !left_.empty();) {
      const bool of_link = left_.size() > own;
      const std::string name = std::move(left_.front());
      left_.pop_front();
      own = std::min(own, left_.size());
      if (name == ".." || above_ > 0) {
        if (!StepAround(name)) return LeadsOut();
        continue;
      }
      inside_.push_back(name);
      const auto target = ReadLink();
      if (target.status().code() == StatusCode::kNotFound && !of_link) break;
      if (!target.ok()) return target.status();
      if (!*target) continue;
      if (++links > kMaxLinks) return OutOfRange("its links are dangling");
      if (!Follow(**target)) return LeadsOut();
    }
    if (above_ > 0) return LeadsOut();
    inside_.insert(inside_.end(), left_.begin(), left_.end());
    return std::move(inside_);
  }

 private:
  static constexpr int kMaxLinks = 40;

  /// Steps up, or down again on the way to the root.
  bool StepAround(const std::string& name) {
    if (name != "..") return name == real_[real_.size() - above_--];
    if (inside_.empty())
      above_ = std::min(above_ + 1, real_.size());
    else
      inside_.pop_back();
    return true;
  }

  /// Target of the link at the current position; nullopt: no link.
  StatusOr<std::optional<std::string>> ReadLink() const {
    const auto fd = OpenBeneath({top_, inside_, kNoLinks}, inside_.size(), O_NOFOLLOW);
    if (!fd.ok()) return fd.status();
    struct stat info {};
    if (::fstat(fd->get(), &info) != 0) return LastError();
    if (!S_ISLNK(info.st_mode)) return std::nullopt;
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(fd->get(), "", target.data(), target.size());
    if (size < 0) return LastError();
    target.resize(static_cast<size_t>(size));
    return target;
  }

  bool Follow(const std::string& target) {
    inside_.pop_back();
    auto names = NamesOf(target);
    if (target.starts_with("/")) {
      inside_.clear();
      const auto* root = StartsWith(names, given_) ? &given_ : &real_;
      if (!StartsWith(names, *root)) return false;
      names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(root->size()));
    }
    left_.insert(left_.begin(), names.begin(), names.end());
    return true;
  }

  static bool StartsWith(const std::vector<std::string>& names,
                         const std::vector<std::string>& first) {
    return names.size() >= first.size() && std::equal(first.begin(), first.end(), names.begin());
  }

  const Fd& top_;
  const std::vector<std::string> given_, real_;
  std::deque<std::string> left_;
  std::vector<std::string> inside_;  // current position, below the root
  size_t above_ = 0;                 // number of steps above the root; `inside_` is empty then
};

}  // namespace

StatusOr<Fd> OpenOrMakeWithin(const std::string& root, const std::string& path_below) {
  const Fd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top.ok()) return LastError();
  const std::vector<std::string> names = NamesOf(path_below);
  auto part = OpenOrMake({top, names, kLinksWithin});
  if (part.ok() || std::ranges::find(names, "..") != names.end()) return part;
  // openat2 refuses absolute links, and links that leave the root and return to it.
  ASSIGN_OR_RETURN(const auto real, NameOfOpen(top), "name of the root");
  auto resolved = Walk(top, NamesOf(root), NamesOf(real)).Resolve(names);
  if (!resolved.ok()) return resolved.status();
  return OpenOrMake({top, *std::move(resolved), kNoLinks});
}

}  // namespace splitlet::fs
