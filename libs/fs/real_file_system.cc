#include "libs/fs/real_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "libs/base/fail_point.h"
#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

constexpr uint32_t kFolderMode = 0750;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

Status LastError() { return ErrnoStatus(errno); }

FileInfo::Kind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileInfo::Kind::kFile;
  if (S_ISDIR(mode)) return FileInfo::Kind::kDirectory;
  if (S_ISLNK(mode)) return FileInfo::Kind::kSymlink;
  return FileInfo::Kind::kOther;
}

bool IsDotDir(std::string_view name) { return name == "." || name == ".."; }

StatusOr<std::vector<std::string>> NamesIn(DIR* dir) {
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    if (!IsDotDir(entry->d_name)) names.emplace_back(entry->d_name);
    errno = 0;
  }
  if (errno != 0) return LastError();
  return names;
}

Status WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return LastError();
    content.remove_prefix(static_cast<size_t>(n));
  }
  return OkStatus();
}

Status WriteBeside(const std::string& path, std::string_view content,
                   const FileSystem::WriteOptions& options) {
  const Fd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, options.mode));
  if (!fd.ok()) return LastError();
  if (::fchmod(fd.get(), options.mode) != 0) return LastError();
  RETURN_IF_ERROR(WriteAll(fd.get(), content), "write");
  if (options.sync && ::fsync(fd.get()) != 0) return LastError();
  return OkStatus();
}

Status SyncFolder(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok() || ::fsync(fd.get()) != 0) return LastError();
  return OkStatus();
}

/// Bind mounts of one file system have its device number: the kernel's mark of a mount point tells
/// them.
Status RefuseMountPoint(int parent, const char* name) {
  struct statx info {};
  if (::statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &info) != 0)
    return LastError();
  if ((info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
      (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    return FailedPrecondition("{} is a mount point", name);
  return OkStatus();
}

Status RemoveEntry(int parent, const char* name);

Status RemoveContent(int parent, const char* name) {
  Fd fd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.ok()) return LastError();
  const Dir dir(::fdopendir(fd.get()));
  if (dir == nullptr) return LastError();
  fd.Release();
  ASSIGN_OR_RETURN(const auto names, NamesIn(dir.get()), "list {}", name);
  for (const auto& child : names)
    RETURN_IF_ERROR(RemoveEntry(::dirfd(dir.get()), child.c_str()), "in {}", name);
  return OkStatus();
}

Status RemoveEntry(int parent, const char* name) {
  struct stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? OkStatus() : LastError();
  const bool directory = S_ISDIR(info.st_mode);
  RETURN_IF_ERROR(RefuseMountPoint(parent, name), "remove");
  if (directory) RETURN_IF_ERROR(RemoveContent(parent, name), "empty");
  if (::unlinkat(parent, name, directory ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT)
    return LastError();
  return OkStatus();
}

}  // namespace

StatusOr<std::string> RealFileSystem::Read(const std::string& path, uint64_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return LastError();
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return LastError();
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR);
  if (!S_ISREG(info.st_mode)) return InvalidArgument("not a file");
  std::string content;
  char buffer[16384];
  while (content.size() <= max_bytes) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return LastError();
    if (n == 0) return content;
    content.append(buffer, static_cast<size_t>(n));
  }
  return ResourceExhausted("longer than {} bytes", max_bytes);
}

Status RealFileSystem::Replace(const std::string& path, std::string_view content,
                               WriteOptions options) {
  FAIL_POINT("fs.replace.before");
  const std::string parent = ParentOf(path);
  const std::string beside = NewContentPath(path);
  Status written = WriteBeside(beside, content, options);
  if (written.code() == StatusCode::kNotFound) {
    RETURN_IF_ERROR(MakeDirs(parent, kFolderMode), "make {}", parent);
    written = WriteBeside(beside, content, options);
  }
  FAIL_POINT("fs.replace.before-rename");
  if (written.ok() && ::rename(beside.c_str(), path.c_str()) != 0) written = LastError();
  if (!written.ok()) {
    ::unlink(beside.c_str());
    return written;
  }
  if (options.sync) RETURN_IF_ERROR(SyncFolder(parent), "sync {}", parent);
  FAIL_POINT("fs.replace.after");
  return OkStatus();
}

StatusOr<std::vector<DirEntry>> RealFileSystem::List(const std::string& path) {
  const Dir dir(::opendir(path.c_str()));
  if (dir == nullptr) return LastError();
  ASSIGN_OR_RETURN(auto names, NamesIn(dir.get()), "read directory");
  std::sort(names.begin(), names.end());
  std::vector<DirEntry> entries;
  for (auto& name : names) {
    struct stat info {};
    if (::fstatat(::dirfd(dir.get()), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // removed meanwhile
      return LastError();
    }
    entries.push_back({std::move(name), KindOf(info.st_mode)});
  }
  return entries;
}

StatusOr<FileInfo> RealFileSystem::Stat(const std::string& path, bool follow) {
  struct stat info {};
  if (::fstatat(AT_FDCWD, path.c_str(), &info, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
    return LastError();
  return FileInfo{
      .kind = KindOf(info.st_mode),
      .size = static_cast<uint64_t>(info.st_size),
      .inode = info.st_ino,
      .modified = WallFromNanos(info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec)};
}

Status RealFileSystem::MakeDirs(const std::string& path, uint32_t mode) {
  const auto make = [&] {
    return ::mkdir(path.c_str(), mode) == 0 && ::chmod(path.c_str(), mode) == 0;
  };
  if (make()) return OkStatus();
  if (errno == EEXIST) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return LastError();
    return S_ISDIR(info.st_mode) ? OkStatus() : AlreadyExists("{} is not a directory", path);
  }
  if (errno != ENOENT || ParentOf(path) == path) return LastError();
  RETURN_IF_ERROR(MakeDirs(ParentOf(path), mode), "make {}", ParentOf(path));
  if (!make() && errno != EEXIST) return LastError();
  return OkStatus();
}

Status RealFileSystem::MakeSymlink(const std::string& target, const std::string& path) {
  return ::symlink(target.c_str(), path.c_str()) == 0 ? OkStatus() : LastError();
}

StatusOr<std::string> RealFileSystem::ReadSymlink(const std::string& path) {
  char target[4096];
  const ssize_t n = ::readlink(path.c_str(), target, sizeof(target));
  if (n < 0) return LastError();
  return std::string(target, static_cast<size_t>(n));
}

Status RealFileSystem::Remove(const std::string& path) {
  FAIL_POINT("fs.remove.before");
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return OkStatus();
  if (errno != EISDIR && errno != EPERM) return LastError();
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) return LastError();
  FAIL_POINT("fs.remove.after");
  return OkStatus();
}

Status RealFileSystem::RemoveTree(const std::string& path) {
  FAIL_POINT("fs.remove-tree.before");
  return RemoveEntry(AT_FDCWD, path.c_str());
}

Status RealFileSystem::Rename(const std::string& from, const std::string& to) {
  FAIL_POINT("fs.rename.before");
  if (::rename(from.c_str(), to.c_str()) != 0) return LastError();
  FAIL_POINT("fs.rename.after");
  return OkStatus();
}

StatusOr<DiskUsage> RealFileSystem::Usage(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return LastError();
  return DiskUsage{.capacity_bytes = info.f_blocks * info.f_frsize,
                   .available_bytes = info.f_bavail * info.f_frsize,
                   .inodes = info.f_files,
                   .inodes_free = info.f_favail};
}

}  // namespace splitlet::fs
