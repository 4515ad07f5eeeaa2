#include "ctl/session/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace splitlet::ctl {

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

std::optional<TerminalSize> SizeOf(int fd) {
  struct winsize size {};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return TerminalSize{.columns = size.ws_col, .rows = size.ws_row};
}

StatusOr<RawMode> RawMode::Enter(int fd) {
  termios before{};
  if (::tcgetattr(fd, &before) != 0) return ErrnoStatus(errno);
  termios raw = before;
  ::cfmakeraw(&raw);
  RawMode mode(fd, before);
  if (::tcsetattr(fd, TCSADRAIN, &raw) != 0) return ErrnoStatus(errno);
  return mode;
}

RawMode::RawMode(RawMode&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), before_(other.before_) {}

RawMode::~RawMode() {
  // A closed terminal needs no restoring.
  if (fd_ >= 0) static_cast<void>(::tcsetattr(fd_, TCSADRAIN, &before_) == 0);
}

}  // namespace splitlet::ctl
