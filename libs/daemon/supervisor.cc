#include "libs/daemon/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace splitlet::daemon {
namespace {

std::optional<int64_t> Number(const char* text) {
  if (text == nullptr) return std::nullopt;
  int64_t value = 0;
  const char* const last = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, last, value);
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

}  // namespace

Status NotifySupervisor(std::string_view message) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return OkStatus();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = std::strlen(path);
  if (length >= sizeof(address.sun_path)) return InvalidArgument("NOTIFY_SOCKET is too long");
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // abstract
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return ErrnoStatus(errno);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t sent = sendto(fd, message.data(), message.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), size);
  const int error = errno;
  close(fd);
  return sent < 0 ? ErrnoStatus(error) : OkStatus();
}

StatusOr<std::optional<Duration>> WatchdogPeriod() {
  const auto micros = Number(std::getenv("WATCHDOG_USEC"));
  const auto pid = Number(std::getenv("WATCHDOG_PID"));
  if (!micros || *micros <= 0 || (pid && *pid != getpid())) return std::optional<Duration>{};
  const Duration half = std::chrono::microseconds(*micros) / 2;
  if (half <= 1s) return InvalidArgument("WATCHDOG_USEC: half of {} us is not above 1 s", *micros);
  return std::optional(half);
}

}  // namespace splitlet::daemon
