#include "libs/fs/ownership.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/fs/dir.h"
#include "libs/fs/fd.h"

namespace splitlet::fs {
namespace {

/// Directories that stay open on the way down. Below them one directory is open at a time: the walk
/// closes it to enter a child, and returns by "..".
constexpr size_t kMaxKept = 64;
/// The walk remembers its position in this many directories. Further up it searches for the entry
/// that it entered, which costs one reading of the directory.
constexpr size_t kMaxPlaces = 1024;
constexpr mode_t kRead = 0440, kWrite = 0660, kDirectoryMode = S_ISGID | 0110;

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

StatusOr<FileId> IdOf(const Dir& dir) {
  struct stat info {};
  if (::fstat(::dirfd(dir.get()), &info) != 0) return ErrnoStatus(errno);
  return FileId{info.st_dev, info.st_ino};
}

/// Bind mounts of one file system have the same device number: the kernel's mark of a mount point
/// distinguishes them.
StatusOr<mode_t> ModeOf(const Fd& fd, bool top) {
  struct statx info {};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE, &info) != 0)
    return ErrnoStatus(errno);
  if (!top && (info.stx_attributes & info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return FailedPrecondition("something else is mounted there");
  return info.stx_mode;
}

/// Works on a descriptor, so that no program can exchange the file between the calls.
StatusOr<mode_t> GiveEntry(const Fd& fd, GroupAccess access, bool top) {
  const auto found = ModeOf(fd, top);
  if (!found.ok()) return found;
  if (::fchownat(fd.get(), "", static_cast<uid_t>(-1), access.group, AT_EMPTY_PATH) != 0)
    return ErrnoStatus(errno);
  if (S_ISLNK(*found)) return found;
  mode_t mode = (*found & 07777) | (access.read_only ? kRead : kWrite);
  if (S_ISDIR(*found)) mode |= kDirectoryMode;
  // fchmod does not work on an O_PATH descriptor. A change of group clears bits, so the mode is
  // always set.
  if (::chmod(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), mode) != 0)
    return ErrnoStatus(errno);
  return found;
}

StatusOr<Dir> OpenDir(int parent, const char* name) {
  Fd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Dir dir(fd.ok() ? ::fdopendir(fd.get()) : nullptr);
  if (dir == nullptr) return ErrnoStatus(errno);
  fd.Release();
  return dir;
}

bool IsDots(const char* name) {
  return std::string_view(name) == "." || std::string_view(name) == "..";
}

/// Reads until this entry. False: the entry no longer exists.
bool ReadUntil(const Dir& dir, const FileId& id) {
  while (const dirent* entry = ::readdir(dir.get())) {
    if (IsDots(entry->d_name) || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)) continue;
    struct stat info {};
    if (::fstatat(::dirfd(dir.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        FileId{info.st_dev, info.st_ino} == id)
      return true;
  }
  return false;
}

/// A depth-first walk with bounded descriptors and memory, for any depth.
class GroupWalk {
 public:
  GroupWalk(GroupAccess access, const Ownership::OnEntry& on_entry)
      : access_(access), on_entry_(on_entry) {}

  /// False: the directory cannot be read, which counts as one failed entry.
  bool GiveBelow(const std::string& path) {
    struct stat top {};
    if (::lstat(path.c_str(), &top) != 0 || !S_ISDIR(top.st_mode)) return true;
    if (const Status entered = Enter(AT_FDCWD, path.c_str()); !entered.ok()) {
      ++change_.entries;
      Fail(entered);
      return false;
    }
    GiveOpen();
    return true;
  }
  void GiveTop(const std::string& path) { Give(AT_FDCWD, path.c_str(), true); }
  GroupChange change() && { return std::move(change_); }

 private:
  /// A directory that the walk has left, and the position in it.
  struct Place {
    FileId id;
    long next = 0;
  };

  void GiveOpen() {
    while (!kept_.empty()) {
      const Dir& dir = deep_ == nullptr ? kept_.back() : deep_;
      errno = 0;
      const dirent* entry = ::readdir(dir.get());
      if (entry != nullptr) {
        if (!IsDots(entry->d_name)) Give(::dirfd(dir.get()), entry->d_name, false);
        continue;
      }
      if (errno != 0) Fail(ErrnoStatus(errno));
      Leave();
    }
  }

  void Fail(const Status& why) {
    ++change_.failed;
    if (change_.first_failure.ok()) change_.first_failure = why;
  }

  void Give(int parent, const char* name, bool top) {
    const Fd fd(::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.ok() && errno == ENOENT) return;  // removed since it was listed
    ++change_.entries;
    if (!fd.ok()) return Fail(ErrnoStatus(errno));
    const auto mode = GiveEntry(fd, access_, top);
    if (on_entry_) on_entry_(change_.entries);
    if (!mode.ok()) return Fail(mode.status());
    if (!S_ISDIR(*mode) || top) return;
    if (const Status entered = Enter(fd.get(), "."); !entered.ok()) Fail(entered);
  }

  Status Enter(int parent, const char* name) {
    ASSIGN_OR_RETURN(Dir dir, OpenDir(parent, name), "open");
    if (kept_.size() < kMaxKept) {
      kept_.push_back(std::move(dir));
      return OkStatus();
    }
    if (deep_ != nullptr) {
      ASSIGN_OR_RETURN(const FileId id, IdOf(deep_), "stat");
      left_.push_back({id, ::telldir(deep_.get())});
      if (left_.size() > kMaxPlaces) left_.pop_front();
    }
    deep_ = std::move(dir);
    ++depth_;
    return OkStatus();
  }

  void Leave() {
    if (deep_ == nullptr) return kept_.pop_back();
    Status back;
    if (--depth_ > 0) back = GoBack();
    if (!back.ok()) Fail(back);
    if (depth_ > 0 && back.ok()) return;
    deep_.reset();
    depth_ = 0;
    left_.clear();
  }

  /// Returns to the directory that holds the innermost one. If that directory was moved, the rest
  /// of this part of the tree is given up: the walk never leaves its top.
  Status GoBack() {
    ASSIGN_OR_RETURN(const FileId child, IdOf(deep_), "stat");
    ASSIGN_OR_RETURN(Dir parent, OpenDir(::dirfd(deep_.get()), ".."), "open the parent");
    ASSIGN_OR_RETURN(const FileId id, IdOf(parent), "stat");
    const Status moved = Aborted("a directory was moved during the walk");
    if (left_.empty()) {
      ASSIGN_OR_RETURN(const FileId top, IdOf(kept_.front()), "stat the top");
      if (id == top || !ReadUntil(parent, child)) return moved;
    } else {
      const Place place = left_.back();
      left_.pop_back();
      if (id != place.id) return moved;
      ::seekdir(parent.get(), place.next);
    }
    deep_ = std::move(parent);
    return OkStatus();
  }

  const GroupAccess access_;
  const Ownership::OnEntry& on_entry_;
  std::vector<Dir> kept_;
  Dir deep_;                // the innermost directory below `kept_`; null: none
  uint64_t depth_ = 0;      // depth of `deep_` below the last of `kept_`
  std::deque<Place> left_;  // directories above `deep_`, the nearest last
  GroupChange change_;
};

}  // namespace

StatusOr<GroupChange> RealOwnership::GiveToGroup(const std::string& path, GroupAccess access,
                                                 const OnEntry& on_entry) {
  GroupWalk walk(access, on_entry);
  const bool entered = walk.GiveBelow(path);
  // The top is changed last: a top that belongs to the group proves that everything below it does.
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
