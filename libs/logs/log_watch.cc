#include "libs/logs/log_watch.h"

#include <poll.h>
#include <sys/inotify.h>

#include <array>
#include <cerrno>

#include "libs/fs/fd.h"
#include "libs/fs/path.h"

namespace splitlet::logs {
namespace {

constexpr int kIdleMs = 1000;
constexpr int kPollMs = 250;
constexpr uint32_t kMask = IN_MODIFY | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE |
                           IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

class InotifyLogWatch final : public LogWatch {
 public:
  explicit InotifyLogWatch(const std::string& path)
      : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    const std::string folder = fs::ParentOf(path);
    watches_ = fd_.ok() && ::inotify_add_watch(fd_.get(), folder.c_str(), kMask) >= 0;
  }

  bool Wait() override {
    if (!watches_) return WaitBlind();
    struct pollfd entry {
      .fd = fd_.get(), .events = POLLIN, .revents = 0
    };
    if (::poll(&entry, 1, kIdleMs) <= 0) return false;
    // Reading the log finds changes, so events are only drained.
    std::array<char, 4096> events;
    while (::read(fd_.get(), events.data(), events.size()) > 0) {
    }
    return true;
  }

 private:
  /// Returns false after one second, because the caller then reads the file anyway.
  bool WaitBlind() {
    ::poll(nullptr, 0, kPollMs);
    return ++blind_ % (kIdleMs / kPollMs) != 0;
  }

  fs::Fd fd_;
  bool watches_ = false;
  int blind_ = 0;
};

}  // namespace

std::unique_ptr<LogWatch> MakeLogWatch(const std::string& path) {
  return std::make_unique<InotifyLogWatch>(path);
}

}  // namespace splitlet::logs
