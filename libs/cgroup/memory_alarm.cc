#include "libs/cgroup/memory_alarm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>
#include <thread>
#include <utility>

#include "libs/fs/fd.h"

namespace splitlet::cgroup {
namespace {

constexpr uint64_t kMaxUsageFile = 64;

StatusOr<fs::Fd> OpenIn(const std::string& directory, const char* file, int flags) {
  const std::string path = directory + "/" + file;
  fs::Fd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd.ok()) return Annotate(ErrnoStatus(errno), "open " + path);
  return fd;
}

StatusOr<uint64_t> UsageIn(const fs::Fd& file) {
  ASSIGN_OR_RETURN(const std::string text, fs::ReadFile(file, kMaxUsageFile),
                   "read memory.usage_in_bytes");
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc()) return Internal("memory.usage_in_bytes: '{}' is not a number", text);
  return bytes;
}

/// The kernel counts pages and rounds down; this is the smallest value that `bytes` reach.
uint64_t InPages(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

class EventAlarm final : public MemoryAlarm {
 public:
  ~EventAlarm() override { Stop(); }

  Status Set(const std::vector<MemoryLine>& lines, std::function<void()> ring) override {
    Stop();
    if (lines.empty()) return OkStatus();
    stop_ = fs::Fd(::eventfd(0, EFD_CLOEXEC));
    if (!stop_.ok()) return Annotate(ErrnoStatus(errno), "eventfd");
    const StatusOr<bool> reached = RegisterAll(lines);
    if (!reached.ok() || *reached) {
      events_.clear();
      if (reached.ok()) ring();
      return reached.status();
    }
    try {
      thread_ = std::thread([this, ring = std::move(ring)] { Wait(ring); });
    } catch (const std::system_error& e) {
      events_.clear();
      return ResourceExhausted("cannot start a thread: {}", e.what());
    }
    return OkStatus();
  }

 private:
  StatusOr<bool> RegisterAll(const std::vector<MemoryLine>& lines) {
    bool reached = false;
    for (const MemoryLine& line : lines) {
      ASSIGN_OR_RETURN(const bool above, Register(line), "{}", line.directory);
      reached = reached || above;
    }
    return reached;
  }

  /// True if usage has reached the line already. The kernel does not report a line below the
  /// current usage, so usage is read afterwards.
  StatusOr<bool> Register(const MemoryLine& line) {
    ASSIGN_OR_RETURN(const fs::Fd usage, OpenIn(line.directory, "memory.usage_in_bytes", O_RDONLY),
                     "usage");
    ASSIGN_OR_RETURN(const fs::Fd control, OpenIn(line.directory, "cgroup.event_control", O_WRONLY),
                     "events");
    fs::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event.ok()) return Annotate(ErrnoStatus(errno), "eventfd");
    const uint64_t bytes = InPages(line.bytes);
    const std::string order = fmt::format("{} {} {}", event.get(), usage.get(), bytes);
    if (::write(control.get(), order.data(), order.size()) != static_cast<ssize_t>(order.size()))
      return Annotate(ErrnoStatus(errno), "write cgroup.event_control");
    events_.push_back(std::move(event));
    ASSIGN_OR_RETURN(const uint64_t now, UsageIn(usage), "usage");
    return now >= bytes;
  }

  void Wait(const std::function<void()>& ring) const {
    std::vector<pollfd> waiting{{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
    for (const auto& event : events_)
      waiting.push_back({.fd = event.get(), .events = POLLIN, .revents = 0});
    while (::poll(waiting.data(), waiting.size(), -1) < 0)
      if (errno != EINTR) return;
    if (waiting.front().revents == 0) ring();
  }

  void Stop() {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      // The write cannot fail: the counter is far from its maximum.
      static_cast<void>(::write(stop_.get(), &one, sizeof(one)) == sizeof(one));
      thread_.join();
    }
    events_.clear();
  }

  fs::Fd stop_{-1};
  std::vector<fs::Fd> events_;
  std::thread thread_;  // reads the two descriptors above
};

}  // namespace

std::unique_ptr<MemoryAlarm> MakeMemoryAlarm() { return std::make_unique<EventAlarm>(); }

}  // namespace splitlet::cgroup
