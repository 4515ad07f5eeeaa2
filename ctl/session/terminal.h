#pragma once

/// The user's terminal: its size, and raw mode while a command in a container has it.
/// Threads: the main one.
/// Errors: by errno, the reason only.

#include <termios.h>

#include <optional>

#include "ctl/session/remote_command.h"
#include "libs/base/status.h"

namespace splitlet::ctl {

bool IsTerminal(int fd);
/// nullopt when `fd` is not a terminal.
std::optional<TerminalSize> SizeOf(int fd);

/// Keeps the terminal raw: each key goes to the command, Ctrl-C too. The destructor restores the
/// mode, so a signal handler must let it run.
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
