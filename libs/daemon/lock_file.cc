#include "libs/daemon/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>

#include "libs/base/hash.h"

namespace splitlet::daemon {
namespace {

std::string HolderOf(int fd) {
  std::array<char, 32> text{};
  const ssize_t length = pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  pid.erase(std::min(pid.find('\n'), pid.size()));
  return pid.empty() ? "unknown" : pid;
}

}  // namespace

StatusOr<LockFile> LockFile::Take(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return Annotate(ErrnoStatus(error.value()), "make the folder of lock file " + path);
  LockFile lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock.fd_ < 0) return Annotate(ErrnoStatus(errno), "open lock file " + path);
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Annotate(ErrnoStatus(errno), "lock " + path);
    return FailedPrecondition(
        "{} is held by process {}: this runs already with the same state directory", path,
        HolderOf(lock.fd_));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  // The number is for people only; the lock holds without it.
  const bool noted = ftruncate(lock.fd_, 0) == 0 && pwrite(lock.fd_, pid.data(), pid.size(), 0) > 0;
  if (!noted) return Annotate(ErrnoStatus(errno), "write lock file " + path);
  return lock;
}

LockFile::LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LockFile::~LockFile() {
  if (fd_ >= 0) close(fd_);
}

std::string RuntimeLockPath(const std::string& endpoint, const std::string& process) {
  static constexpr std::string_view kScheme = "unix://";
  const std::string path =
      endpoint.starts_with(kScheme) ? endpoint.substr(kScheme.size()) : endpoint;
  return fmt::format("/run/lock/splitlet-{}-{}", HexHash(path), process);
}

}  // namespace splitlet::daemon
