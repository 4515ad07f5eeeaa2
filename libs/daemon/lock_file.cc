#include "libs/daemon/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include "libs/base/hash.h"
#include "libs/fs/fd.h"

namespace splitlet::daemon {
namespace {

std::string HolderOf(int fd) {
  std::array<char, 32> text{};
  const ssize_t length = pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  pid.erase(std::min(pid.find('\n'), pid.size()));
  return pid.empty() ? "unknown" : pid;
}

/// Makes a missing folder; follows no link. Below 0: errno.
int OpenOwnFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return -1;
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

}  // namespace

StatusOr<LockFile> LockFile::TakeAt(int folder, const std::string& name, const std::string& path) {
  LockFile lock(
      openat(folder, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (lock.fd_ < 0) return Annotate(ErrnoStatus(errno), "open lock file " + path);
  struct stat info {};
  if (fstat(lock.fd_, &info) != 0) return Annotate(ErrnoStatus(errno), "status of " + path);
  // A hard link could be another program's file, whose content would be lost.
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1)
    return FailedPrecondition("{} is no lock file: remove it", path);
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Annotate(ErrnoStatus(errno), "lock " + path);
    return FailedPrecondition(
        "{} is held by process {}: this runs already with the same state directory", path,
        HolderOf(lock.fd_));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  // The pid is for people; the lock holds without it.
  const bool noted = ftruncate(lock.fd_, 0) == 0 && pwrite(lock.fd_, pid.data(), pid.size(), 0) > 0;
  if (!noted && errno != ENOSPC) return Annotate(ErrnoStatus(errno), "write lock file " + path);
  return lock;
}

StatusOr<LockFile> LockFile::Take(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return Annotate(ErrnoStatus(error.value()), "make the folder of lock file " + path);
  return TakeAt(AT_FDCWD, path, path);
}

LockFile::LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LockFile::~LockFile() {
  if (fd_ >= 0) close(fd_);
}

StatusOr<RuntimeLock> RuntimeLock::Take(const std::string& endpoint, const std::string& process,
                                        const std::string& directory) {
  static constexpr std::string_view kScheme = "unix://";
  const std::string socket =
      endpoint.starts_with(kScheme) ? endpoint.substr(kScheme.size()) : endpoint;
  const std::string name = fmt::format("{}-{}", HexHash(socket), process);
  const std::string own = directory + "/splitlet";
  const fs::Fd folder(OpenOwnFolder(own));
  if (!folder.ok()) return Annotate(ErrnoStatus(errno), "open " + own);
  struct stat info {};
  if (fstat(folder.get(), &info) != 0) return Annotate(ErrnoStatus(errno), "status of " + own);
  if (info.st_uid != geteuid() || (info.st_mode & 0022) != 0)
    return FailedPrecondition("{} is not of user {} alone: remove it", own, geteuid());
  auto lock = LockFile::TakeAt(folder.get(), name, own + "/" + name);
  if (!lock.ok()) return lock.status();
  ASSIGN_OR_RETURN(auto old, TakeOld(directory + "/splitlet-" + name), "lock of earlier versions");
  return RuntimeLock(*std::move(lock), std::move(old));
}

/// A lock of the earlier path, in a folder where every user may write: a file of another user is no
/// lock, so that no user can block the start of this process.
StatusOr<std::optional<LockFile>> RuntimeLock::TakeOld(const std::string& path) {
  {
    const fs::Fd fd(
        open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    struct stat info {};
    if (!fd.ok() || fstat(fd.get(), &info) != 0 || info.st_uid != geteuid()) return std::nullopt;
  }
  auto lock = LockFile::TakeAt(AT_FDCWD, path, path);
  if (!lock.ok()) return lock.status();
  return *std::move(lock);
}

}  // namespace splitlet::daemon
