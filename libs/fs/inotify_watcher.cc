#include "libs/fs/inotify_watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "libs/fs/path.h"

namespace splitlet::fs {
namespace {

constexpr uint32_t kMask = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE |
                           IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr uint32_t kMoved = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT | IN_Q_OVERFLOW;
constexpr int kNone = -1;

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

class InotifyWatcher final : public FileWatcher {
 public:
  ~InotifyWatcher() override { Stop(); }

  Status Start(const std::string& path, Callbacks callbacks) override {
    Stop();  // ends an earlier watch
    path_ = path;
    callbacks_ = std::move(callbacks);
    inotify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (inotify_ < 0) return Annotate(ErrnoStatus(errno), "inotify");
    stop_ = ::eventfd(0, EFD_CLOEXEC);
    if (stop_ < 0) return Annotate(ErrnoStatus(errno), "eventfd");
    RETURN_IF_ERROR(Arm(), "watch {}", path_);
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error& e) {
      return ResourceExhausted("no thread to watch {}: {}", path_, e.what());
    }
    return OkStatus();
  }

 private:
  void Stop() {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      // The write cannot fail: the counter is far from its maximum.
      static_cast<void>(::write(stop_, &one, sizeof(one)) == sizeof(one));
      thread_.join();
    }
    if (inotify_ >= 0) ::close(inotify_);
    if (stop_ >= 0) ::close(stop_);
    inotify_ = stop_ = target_ = parent_ = kNone;
  }

  /// Watches the path if it is a directory, and in any case its name in the nearest existing
  /// parent, whose events report creation, removal and replacement of the path.
  Status Arm() {
    Forget(target_);
    Forget(parent_);
    while (true) {
      std::string below = path_;
      while (below != "/" && !Exists(ParentOf(below))) below = ParentOf(below);
      name_ = NameOf(below);
      if (below != "/") {
        parent_ = ::inotify_add_watch(inotify_, ParentOf(below).c_str(), kMask | IN_ONLYDIR);
        if (parent_ < 0 && errno == ENOENT) continue;  // removed since it was listed
        if (parent_ < 0) return ErrnoStatus(errno);
      }
      if (IsDirectory(path_)) {
        target_ = ::inotify_add_watch(inotify_, path_.c_str(), kMask | IN_ONLYDIR);
        if (target_ < 0 && errno != ENOENT) return ErrnoStatus(errno);
        return OkStatus();
      }
      // The next round of this loop finds entries created before the watch existed.
      if (below == path_ || !Exists(below)) return OkStatus();
      Forget(parent_);
    }
  }

  void Forget(int& watch) const {
    if (watch >= 0) ::inotify_rm_watch(inotify_, watch);
    watch = kNone;
  }

  void Run() {
    while (true) {
      pollfd fds[] = {{inotify_, POLLIN, 0}, {stop_, POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) continue;
      if (fds[1].revents != 0) return;
      Hint hint;
      bool rearm = false;
      ReadEvents(hint, rearm);
      const Status armed = rearm ? Arm() : OkStatus();
      if (!hint.empty()) callbacks_.on_change(hint);
      if (!armed.ok()) return callbacks_.on_lost(Annotate(armed, fmt::format("watch {}", path_)));
    }
  }

  void ReadEvents(Hint& hint, bool& rearm) const {
    alignas(inotify_event) char buffer[16384];
    while (true) {
      const ssize_t n = ::read(inotify_, buffer, sizeof(buffer));
      if (n <= 0) return;
      for (ssize_t at = 0; at < n;) {
        inotify_event event;
        std::memcpy(&event, buffer + at, sizeof(event));
        const char* name = event.len > 0 ? buffer + at + sizeof(event) : "";
        at += static_cast<ssize_t>(sizeof(event) + event.len);
        const bool leads_here = event.wd == parent_ && name_ == name;
        const bool ours = event.wd == target_ || event.wd == parent_ || event.wd == -1;
        const bool moved = ours && (event.mask & kMoved) != 0;
        rearm = rearm || moved || leads_here;
        const bool entry = event.wd == target_ && *name != '\0';
        if (moved || leads_here || (event.wd == target_ && !entry)) hint.Add(Hint::Anything());
        if (entry) hint.Add(std::string(name));
      }
    }
  }

  std::string path_;
  Callbacks callbacks_;
  int inotify_ = kNone;
  int stop_ = kNone;
  int target_ = kNone;
  int parent_ = kNone;
  std::string name_;  // name, in the watched parent, of the entry that leads to the path
  std::thread thread_;
};

}  // namespace

std::unique_ptr<FileWatcher> MakeInotifyWatcher() { return std::make_unique<InotifyWatcher>(); }

}  // namespace splitlet::fs
