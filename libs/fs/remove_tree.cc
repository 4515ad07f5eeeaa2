#include "libs/fs/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "libs/fs/dir.h"
#include "libs/fs/fd.h"
#include "libs/fs/last_error.h"
#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

/// Limit of directories open at a time. Each holds a descriptor and the kernel's last batch of
/// entries.
constexpr size_t kMaxOpen = 8;

/// Names of pods appear in messages, so control characters are replaced.
std::string Shown(const char* name) {
  std::string shown = name;
  for (char& c : shown) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return shown;
}

enum class Entry { kGone, kDirectory, kOther };

/// Kind of the entry, without following it. Bind mounts of one file system have the same device
/// number: the kernel's mark of a mount point distinguishes them.
StatusOr<Entry> LookAt(int parent, const char* name) {
  struct statx info {};
  if (::statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &info) != 0) {
    if (errno == ENOENT) return Entry::kGone;
    return LastError();
  }
  if ((info.stx_attributes & info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return FailedPrecondition("{} is a mount point", Shown(name));
  return S_ISDIR(info.stx_mode) ? Entry::kDirectory : Entry::kOther;
}

StatusOr<Dir> Open(int parent, const char* name) {
  Fd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.ok()) return LastError();
  Dir dir(::fdopendir(fd.get()));
  if (dir == nullptr) return LastError();
  fd.Release();
  return dir;
}

class TreeRemoval {
 public:
  explicit TreeRemoval(const std::function<bool()>& go_on) : go_on_(go_on) {}
  /// Empties the directory, then leaves it.
  Status Empty(int parent, const char* name) {
    RETURN_IF_ERROR(Push(parent, name), "open");
    while (true) {
      RETURN_IF_ERROR(EmptyTop(), "empty");
      if (levels_.size() == 1) return OkStatus();
      const std::string emptied = std::move(levels_.back().name);
      levels_.pop_back();
      RETURN_IF_ERROR(RemoveDirectory(emptied.c_str()), "remove {}", Shown(emptied.c_str()));
    }
  }

 private:
  struct Level {
    std::string name;
    Dir dir;
    bool changed = false;  // entries changed since the last rewind
  };

  int top_fd() const { return ::dirfd(levels_.back().dir.get()); }

  Status Push(int parent, const char* name) {
    auto dir = Open(parent, name);
    if (!dir.ok()) return dir.status();
    levels_.push_back({name, *std::move(dir)});
    return OkStatus();
  }

  Status RemoveDirectory(const char* name) {
    if (::unlinkat(top_fd(), name, AT_REMOVEDIR) != 0 && errno != ENOENT) return LastError();
    levels_.back().changed = true;
    return OkStatus();
  }

  /// Works until the innermost directory is empty, which may be a deeper one than at the call. A
  /// directory that changes while it is read may skip entries, so reading repeats until a full pass
  /// removes nothing.
  Status EmptyTop() {
    while (true) {
      Level& level = levels_.back();
      errno = 0;
      const dirent* entry = ::readdir(level.dir.get());
      if (entry == nullptr) {
        if (errno != 0) return LastError();
        if (!std::exchange(level.changed, false)) return OkStatus();
        ::rewinddir(level.dir.get());
        continue;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (!go_on_()) return Aborted("stopped by the caller");
      RETURN_IF_ERROR(RemoveEntry(entry->d_name), "{}", Shown(entry->d_name));
    }
  }

  Status RemoveEntry(const char* name) {
    const auto kind = LookAt(top_fd(), name);
    if (!kind.ok()) return kind.status();
    if (*kind == Entry::kGone) return OkStatus();
    const bool directory = *kind == Entry::kDirectory;
    if (::unlinkat(top_fd(), name, directory ? AT_REMOVEDIR : 0) == 0) {
      levels_.back().changed = true;
      return OkStatus();
    }
    if (errno == ENOENT) return OkStatus();
    const bool full = errno == ENOTEMPTY || errno == EEXIST;
    if (!directory || !full) return LastError();
    return levels_.size() < kMaxOpen ? Push(top_fd(), name) : Lift(name);
  }

  /// Moves an entry to the top of the tree, under a free name.
  Status Lift(const char* name) {
    const int root = ::dirfd(levels_.front().dir.get());
    while (true) {
      char lifted[32];
      (void)std::snprintf(lifted, sizeof(lifted), ".lifted-%llu",
                          static_cast<unsigned long long>(next_lifted_++));
      if (::renameat(top_fd(), name, root, lifted) == 0) break;
      const bool taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
      if (!taken) return LastError();
    }
    levels_.back().changed = levels_.front().changed = true;
    return OkStatus();
  }

  const std::function<bool()>& go_on_;
  std::vector<Level> levels_;
  uint64_t next_lifted_ = 0;
};

}  // namespace

Status RemoveTreeAt(const std::string& path, const std::function<bool()>& go_on) {
  const auto kind = LookAt(AT_FDCWD, path.c_str());
  if (!kind.ok()) return kind.status();
  if (*kind == Entry::kGone) return OkStatus();
  const bool directory = *kind == Entry::kDirectory;
  if (directory) {
    const Status emptied = TreeRemoval(go_on).Empty(AT_FDCWD, path.c_str());
    if (!emptied.ok()) return emptied;
  }
  if (::unlinkat(AT_FDCWD, path.c_str(), directory ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT)
    return LastError();
  return OkStatus();
}

}  // namespace splitlet::fs
