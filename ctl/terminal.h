#pragma once

/// The terminal of whoever called us: its size, and raw mode while a command in a container has it.
/// Threads: the main one.
/// Errors: by errno, the reason only.

#include <termios.h>

#include <optional>

#include "ctl/remote_command.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

bool IsTerminal(int fd);
/// nullopt when `fd` is no terminal.
std::optional<TerminalSize> SizeOf(int fd);

/// Raw while it lives: each key goes to the command, Ctrl-C too. The mode before comes back with
/// its end, so whoever handles signals has to let it end.
class RawMode {
 public:
  static StatusOr<RawMode> Enter(int fd);
  ~RawMode();
  RawMode(RawMode&& other) noexcept;
  RawMode& operator=(RawMode&&) = delete;

 private:
  RawMode(int fd, const termios& before) : fd_(fd), before_(before) {}
  int fd_;
  termios before_;
};

}  // namespace splitlet::ctl
