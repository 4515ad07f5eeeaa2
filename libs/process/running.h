#pragma once

/// A running program: started, fed, read and awaited by a caller that polls Wants().
/// Threads: one.
/// Errors:  those of RunProgram.

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"
#include "libs/process/run_program.h"

namespace splitlet::process {

class Running {
 public:
  /// In its own process group, with no signal blocked or ignored. `program` outlives the object.
  static StatusOr<std::unique_ptr<Running>> Start(const Program& program);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static constexpr size_t kPolled = 4;
  std::array<pollfd, kPolled> Wants() const;
  /// Call after poll(2). An error: kill the program.
  Status OnPolled(const std::array<pollfd, kPolled>& polled);
  /// True if the program has ended, so that End returns its output without waiting.
  bool over() const { return over_; }
  /// Kills the process group. A program that hangs in the kernel may stay for a while.
  void Kill();
  /// Waits until the program has ended. Call once.
  StatusOr<std::string> End();

 private:
  Running(const Program& program, pid_t pid, std::array<fs::Fd, 3> ends);
  void Feed();
  static bool Drain(fs::Fd& end, std::string& text, size_t most);

  const Program& program_;
  const pid_t pid_;
  fs::Fd ended_;
  std::array<fs::Fd, 3> ends_;  // our ends of its stdin, stdout and stderr
  size_t fed_ = 0;
  std::string out_, err_;
  bool over_ = false;
  bool killed_ = false;
  bool reaped_ = false;
};

}  // namespace splitlet::process
