#include "libs/fs/ownership.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/fs/dir.h"
#include "libs/fs/fd.h"

namespace splitlet::fs {
namespace {

/// Each directory on the way holds a descriptor; what is deeper counts as failed.
constexpr size_t kMaxDepth = 64;
constexpr mode_t kRead = 0440, kWrite = 0660, kDirectoryMode = S_ISGID | 0110;

/// Through a descriptor: nobody can put another file in its place between the calls. True for a
/// directory.
StatusOr<bool> GiveEntry(int parent, const char* name, GroupAccess access) {
  const Fd fd(::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus(errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno);
  if (::fchownat(fd.get(), "", static_cast<uid_t>(-1), access.group, AT_EMPTY_PATH) != 0)
    return ErrnoStatus(errno);
  if (S_ISLNK(info.st_mode)) return false;
  mode_t mode = (info.st_mode & 07777) | (access.read_only ? kRead : kWrite);
  if (S_ISDIR(info.st_mode)) mode |= kDirectoryMode;
  // A descriptor that only names a file has no fchmod. A new group takes bits away: always set.
  if (::chmod(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), mode) != 0)
    return ErrnoStatus(errno);
  return S_ISDIR(info.st_mode);
}

class GroupWalk {
 public:
  explicit GroupWalk(GroupAccess access) : access_(access) {}

  /// False: it cannot be looked into, which counts as one entry that failed.
  bool GiveBelow(const std::string& path) {
    struct stat top {};
    if (::lstat(path.c_str(), &top) != 0 || !S_ISDIR(top.st_mode)) return true;
    if (const Status opened = Open(AT_FDCWD, path.c_str()); !opened.ok()) {
      ++change_.entries;
      Fail(opened);
      return false;
    }
    GiveOpen();
    return true;
  }
  void GiveTop(const std::string& path) { Give(AT_FDCWD, path.c_str(), true); }
  GroupChange change() && { return std::move(change_); }

 private:
  void GiveOpen() {
    while (!open_.empty()) {
      errno = 0;
      const dirent* entry = ::readdir(open_.back().get());
      if (entry == nullptr) {
        if (errno != 0) Fail(ErrnoStatus(errno));
        open_.pop_back();
        continue;
      }
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") Give(::dirfd(open_.back().get()), entry->d_name);
    }
  }

  void Fail(const Status& why) {
    ++change_.failed;
    if (change_.first_failure.ok()) change_.first_failure = why;
  }

  void Give(int parent, const char* name, bool entered = false) {
    const auto directory = GiveEntry(parent, name, access_);
    if (directory.status().code() == StatusCode::kNotFound) return;  // removed meanwhile
    ++change_.entries;
    if (!directory.ok()) return Fail(directory.status());
    if (!*directory || entered) return;
    if (open_.size() == kMaxDepth)
      return Fail(ResourceExhausted("more than {} directories deep", kMaxDepth));
    if (const Status opened = Open(parent, name); !opened.ok()) Fail(opened);
  }

  Status Open(int parent, const char* name) {
    Fd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    Dir dir(fd.ok() ? ::fdopendir(fd.get()) : nullptr);
    if (dir == nullptr) return ErrnoStatus(errno);
    fd.Release();
    open_.push_back(std::move(dir));
    return OkStatus();
  }

  const GroupAccess access_;
  std::vector<Dir> open_;
  GroupChange change_;
};

}  // namespace

StatusOr<GroupChange> RealOwnership::GiveToGroup(const std::string& path, GroupAccess access) {
  GroupWalk walk(access);
  const bool entered = walk.GiveBelow(path);
  // Last: one that belongs to the group says that all below it does.
  FAIL_POINT("fs.give-to-group.top");
  if (entered) walk.GiveTop(path);
  GroupChange change = std::move(walk).change();
  if (change.entries == 0) return ErrnoStatus(ENOENT);
  return change;
}

Status RealOwnership::GiveToUser(const std::string& path, uint32_t user) {
  if (::fchownat(AT_FDCWD, path.c_str(), user, static_cast<gid_t>(-1), AT_SYMLINK_NOFOLLOW) != 0)
    return ErrnoStatus(errno);
  return OkStatus();
}

}  // namespace splitlet::fs
