#include "libs/cgroup/kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "libs/fs/fd.h"
#include "libs/fs/write_in_place.h"

namespace splitlet::cgroup {

namespace {

constexpr uint64_t kMaxFile = 1u << 20;
constexpr mode_t kDirMode = 0755;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

StatusOr<std::string> RealKernel::Read(const std::string& path) {
  const fs::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.ok()) return ErrnoStatus(errno);
  return fs::ReadFile(fd, kMaxFile);
}

Status RealKernel::Write(const std::string& path, const std::string& value) {
  return fs::WriteInPlace(path, value);
}

Status RealKernel::MakeDir(const std::string& path) {
  if (::mkdir(path.c_str(), kDirMode) != 0 && errno != EEXIST) return ErrnoStatus(errno);
  return OkStatus();
}

Status RealKernel::RemoveDir(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return OkStatus();
  if (errno == EBUSY || errno == ENOTEMPTY) return FailedPrecondition("device or resource busy");
  return ErrnoStatus(errno);
}

StatusOr<std::vector<std::string>> RealKernel::ListDirs(const std::string& path) {
  const std::unique_ptr<DIR, CloseDir> dir(::opendir(path.c_str()));
  if (dir == nullptr) return ErrnoStatus(errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return ErrnoStatus(errno);
  std::sort(names.begin(), names.end());
  return names;
}

Status RealKernel::Kill(int64_t pid) {
  // 0 and negative numbers mean groups of processes, including this process's.
  CHECK(pid > 0, "pid is {}", pid);
  if (::kill(static_cast<pid_t>(pid), SIGKILL) != 0 && errno != ESRCH) return ErrnoStatus(errno);
  return OkStatus();
}

}  // namespace splitlet::cgroup
