#include "kubelet/node_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>

namespace splitlet::kubelet {
namespace {

/// A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 17 00:18:4711 0 EOF".
std::string HolderOf(ino_t inode) {
  const std::string place = fmt::format(":{} ", inode);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, how, access, pid;
    if (line.find(place) != std::string::npos && words >> number >> kind >> how >> access >> pid &&
        kind == "FLOCK")
      return "process " + pid;
  }
  return "an unknown process";
}

Status CheckOwn(const struct stat& info) {
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1)
    return FailedPrecondition("it is not a regular file with one link: remove it");
  if (info.st_uid != geteuid())
    return FailedPrecondition("it belongs to user {}, not to {}: remove it", info.st_uid,
                              geteuid());
  return OkStatus();
}

StatusOr<fs::Fd> OpenLocked(const std::string& path, const NodeLock::OnWait& on_wait) {
  fs::Fd file(open(path.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file.ok()) return ErrnoStatus(errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno);
  if (const Status own = CheckOwn(info); !own.ok()) return own;
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return ErrnoStatus(errno);
  on_wait(HolderOf(info.st_ino));
  while (flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) return ErrnoStatus(errno);
  return file;
}

StatusOr<fs::Fd> Watch(const std::string& path) {
  fs::Fd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch.ok()) return ErrnoStatus(errno);
  if (inotify_add_watch(watch.get(), path.c_str(), IN_OPEN | IN_ATTRIB) < 0)
    return ErrnoStatus(errno);
  return watch;
}

}  // namespace

StatusOr<NodeLock> NodeLock::Take(const std::string& path, bool watch, const OnWait& on_wait) {
  ASSIGN_OR_RETURN(fs::Fd file, OpenLocked(path, on_wait), "unable to acquire file lock on {}",
                   path);
  fs::Fd watched(-1);
  if (watch) {
    ASSIGN_OR_RETURN(watched, Watch(path), "watch {}", path);
  }
  return NodeLock(std::move(file), std::move(watched));
}

/// Unlinking a file that is held open changes its link count, which inotify reports.
bool NodeLock::IsContended() {
  bool opened = false;
  alignas(inotify_event) std::array<char, 4096> events{};
  for (ssize_t got = 0; (got = read(watch_.get(), events.data(), events.size())) > 0;)
    for (ssize_t at = 0; at < got;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(events.data() + at);
      opened |= (event->mask & (IN_OPEN | IN_Q_OVERFLOW)) != 0;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  struct stat file {};
  return opened || (fstat(file_.get(), &file) == 0 && file.st_nlink == 0);
}

}  // namespace splitlet::kubelet
