#include "kubelet/node_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace splitlet::kubelet {
namespace {

StatusOr<fs::Fd> OpenLocked(const std::string& path) {
  fs::Fd file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!file.ok()) return ErrnoStatus(errno);
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

StatusOr<NodeLock> NodeLock::Take(const std::string& path, bool watch) {
  ASSIGN_OR_RETURN(fs::Fd file, OpenLocked(path), "unable to acquire file lock on {}", path);
  fs::Fd watched(-1);
  if (watch) {
    ASSIGN_OR_RETURN(watched, Watch(path), "watch {}", path);
  }
  return NodeLock(std::move(file), std::move(watched));
}

/// Of a file that is held open its removal shows as a change of its links.
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
