#include "libs/fs/real_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/fs/dir.h"
#include "libs/fs/fd.h"
#include "libs/fs/last_error.h"
#include "libs/fs/path.h"
#include "libs/fs/remove_tree.h"

namespace splitlet::fs {
namespace {

constexpr uint32_t kFolderMode = 0750;

FileInfo::Kind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileInfo::Kind::kFile;
  if (S_ISDIR(mode)) return FileInfo::Kind::kDirectory;
  if (S_ISLNK(mode)) return FileInfo::Kind::kSymlink;
  if (S_ISSOCK(mode)) return FileInfo::Kind::kSocket;
  if (S_ISCHR(mode)) return FileInfo::Kind::kCharDevice;
  if (S_ISBLK(mode)) return FileInfo::Kind::kBlockDevice;
  return FileInfo::Kind::kOther;
}

bool IsDotDir(std::string_view name) { return name == "." || name == ".."; }

/// Unset: the directory does not report the kind.
std::optional<FileInfo::Kind> KindOf(const dirent& entry) {
  if (entry.d_type == DT_UNKNOWN) return std::nullopt;
  return KindOf(static_cast<mode_t>(DTTOIF(entry.d_type)));
}

struct Named {
  std::string name;
  std::optional<FileInfo::Kind> kind;
};

StatusOr<std::vector<Named>> EntriesOf(DIR* dir) {
  std::vector<Named> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    if (!IsDotDir(entry->d_name)) entries.push_back({entry->d_name, KindOf(*entry)});
    errno = 0;
  }
  if (errno != 0) return LastError();
  return entries;
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
  if (options.fsync && ::fsync(fd.get()) != 0) return LastError();
  return OkStatus();
}

/// posix_fallocate returns an error number and does not set errno.
Status AllocateNew(const std::string& path, uint64_t bytes) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.ok()) return LastError();
  const int error = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  return error == 0 ? OkStatus() : ErrnoStatus(error);
}

/// Overwrites the blocks of the file, then cuts the file to its length.
Status WriteInPlace(const std::string& path, std::string_view content,
                    const FileSystem::WriteOptions& options) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.ok()) return LastError();
  RETURN_IF_ERROR(WriteAll(fd.get(), content), "write");
  if (::ftruncate(fd.get(), static_cast<off_t>(content.size())) != 0) return LastError();
  if (::fchmod(fd.get(), options.mode) != 0) return LastError();
  if (options.fsync && ::fsync(fd.get()) != 0) return LastError();
  return OkStatus();
}

Status CheckRegular(const Fd& fd) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return LastError();
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR);
  return S_ISREG(info.st_mode) ? OkStatus() : InvalidArgument("not a file");
}

/// Opens an existing regular file; follows no link.
StatusOr<Fd> OpenToChange(const std::string& path) {
  // O_NONBLOCK, because a pipe in place of the file must not block the call.
  Fd fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.ok()) return LastError();
  if (Status is = CheckRegular(fd); !is.ok()) return is;
  return fd;
}

Status SyncFolder(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok() || ::fsync(fd.get()) != 0) return LastError();
  return OkStatus();
}

/// Gives a new folder its mode whatever the umask. The setgid bit stays, because a process under
/// systemd may lack the capability to change it.
Status SetMode(const Fd& fd, mode_t mode) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return LastError();
  if ((info.st_mode & 07777 & ~S_ISGID) == mode) return OkStatus();
  return ::fchmod(fd.get(), mode | (info.st_mode & S_ISGID)) == 0 ? OkStatus() : LastError();
}

/// Opens a folder in another one; follows no link.
StatusOr<Fd> MakeFolderIn(const Fd& parent, const std::string& name, mode_t mode) {
  if (name == "..") return InvalidArgument("it leads out");
  const bool made = ::mkdirat(parent.get(), name.c_str(), mode) == 0;
  if (!made && errno != EEXIST) return LastError();
  Fd fd(::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.ok()) {
    if (errno == ENOTDIR || errno == ELOOP) return AlreadyExists("not a directory");
    return LastError();
  }
  if (made) RETURN_IF_ERROR(SetMode(fd, mode), "mode of {}", name);
  return fd;
}

/// Opens the folder, and creates every missing one on the way with `mode`. Each new folder stays
/// open while the next is made in it, so that no program can put a link in its place.
StatusOr<Fd> MakeFolder(const std::string& path, mode_t mode) {
  std::vector<std::string> missing;
  std::string there = path;
  while (true) {
    Fd fd(::open(there.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd.ok()) {
      struct stat info {};
      if (errno == ENOTDIR && ::stat(there.c_str(), &info) == 0)
        return AlreadyExists("{} is not a directory", there);
      if (errno != ENOENT || ParentOf(there) == there) return LastError();
      missing.push_back(NameOf(there));
      there = ParentOf(there);
      continue;
    }
    for (; !missing.empty(); missing.pop_back()) {
      auto next = MakeFolderIn(fd, missing.back(), mode);
      if (!next.ok()) return next;
      fd = *std::move(next);
    }
    return fd;
  }
}

}  // namespace

StatusOr<Fd> OpenRegularFile(const Fd& named) {
  if (Status is = CheckRegular(named); !is.ok()) return is;
  const std::string path = "/proc/self/fd/" + std::to_string(named.get());
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.ok()) return LastError();
  return fd;
}

StatusOr<std::string> ReadFile(const Fd& fd, uint64_t max_bytes) {
  if (Status is = CheckRegular(fd); !is.ok()) return is;
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

StatusOr<std::string> RealFileSystem::Read(const std::string& path, uint64_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return LastError();
  return ReadFile(fd, max_bytes);
}

StatusOr<OwnedText> RealFileSystem::ReadOwned(const std::string& path, uint64_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.ok() || ::fstat(fd.get(), &info) != 0) return LastError();
  auto text = ReadFile(fd, max_bytes);
  if (!text.ok()) return text.status();
  return OwnedText{.text = *std::move(text), .owner = info.st_uid, .mode = info.st_mode & 07777};
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
  if (options.fsync) RETURN_IF_ERROR(SyncFolder(parent), "sync {}", parent);
  FAIL_POINT("fs.replace.after");
  return OkStatus();
}

/// Does not stat entries whose kind the directory reports, because a mount on one of them may hang.
StatusOr<std::vector<DirEntry>> RealFileSystem::List(const std::string& path) {
  const Dir dir(::opendir(path.c_str()));
  if (dir == nullptr) return LastError();
  ASSIGN_OR_RETURN(auto found, EntriesOf(dir.get()), "read directory");
  std::ranges::sort(found, {}, &Named::name);
  std::vector<DirEntry> entries;
  for (auto& [name, kind] : found) {
    struct stat info {};
    if (!kind && ::fstatat(::dirfd(dir.get()), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // removed since it was listed
      return LastError();
    }
    entries.push_back({std::move(name), kind.value_or(KindOf(info.st_mode))});
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
  return MakeFolder(path, mode).status();
}

Status RealFileSystem::MakeDirsBelow(const std::string& root, const std::string& below,
                                     uint32_t mode) {
  ASSIGN_OR_RETURN(Fd fd, MakeFolder(root, mode), "make {}", root);
  std::string path = root;
  for (const std::string& name : NamesOf(below)) {
    path += "/" + name;
    ASSIGN_OR_RETURN(fd, MakeFolderIn(fd, name, mode), "make {}", path);
  }
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

Status RealFileSystem::RemoveTreeWhile(const std::string& path,
                                       const std::function<bool()>& go_on) {
  FAIL_POINT("fs.remove-tree.before");
  return RemoveTreeAt(path, go_on);
}

Status RealFileSystem::Truncate(const std::string& path) {
  FAIL_POINT("fs.truncate.before");
  const auto fd = OpenToChange(path);
  if (!fd.ok()) return fd.status();
  if (::ftruncate(fd->get(), 0) != 0) return LastError();
  FAIL_POINT("fs.truncate.after");
  return OkStatus();
}

Status RealFileSystem::Overwrite(const std::string& path, std::string_view content) {
  FAIL_POINT("fs.overwrite.before");
  const auto fd = OpenToChange(path);
  if (!fd.ok()) return fd.status();
  RETURN_IF_ERROR(WriteAll(fd->get(), content), "write");
  FAIL_POINT("fs.overwrite.before-cut");
  if (::ftruncate(fd->get(), static_cast<off_t>(content.size())) != 0) return LastError();
  FAIL_POINT("fs.overwrite.after");
  return OkStatus();
}

Status RealFileSystem::Allocate(const std::string& path, uint64_t bytes) {
  FAIL_POINT("fs.allocate.before");
  const std::string beside = NewContentPath(path);
  RETURN_IF_ERROR(MakeDirs(ParentOf(path), kFolderMode), "make {}", ParentOf(path));
  Status made = AllocateNew(beside, bytes);
  FAIL_POINT("fs.allocate.before-rename");
  if (made.ok() && ::rename(beside.c_str(), path.c_str()) != 0) made = LastError();
  if (!made.ok()) ::unlink(beside.c_str());
  FAIL_POINT("fs.allocate.after");
  return made;
}

Status RealFileSystem::ReplaceFrom(const std::string& spare, const std::string& path,
                                   std::string_view content, WriteOptions options) {
  FAIL_POINT("fs.replace-from.before");
  RETURN_IF_ERROR(WriteInPlace(spare, content, options), "write");
  FAIL_POINT("fs.replace-from.before-rename");
  if (::rename(spare.c_str(), path.c_str()) != 0) return LastError();
  if (options.fsync) RETURN_IF_ERROR(SyncFolder(ParentOf(path)), "sync {}", ParentOf(path));
  FAIL_POINT("fs.replace-from.after");
  return OkStatus();
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
