#pragma once

/// A program that runs: started, fed, read and waited for, by whoever polls what it wants polled.
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
  /// In a process group of its own, with no signal blocked or ignored. `program` outlives it.
  static StatusOr<std::unique_ptr<Running>> Start(const Program& program);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static constexpr size_t kPolled = 4;
  std::array<pollfd, kPolled> Wants() const;
  /// After poll(2). An error: of the program, which is to be killed.
  Status OnPolled(const std::array<pollfd, kPolled>& polled);
  /// It has ended: End gives at once what it printed.
  bool over() const { return over_; }
  /// With all of its process group. It may take its time: one that hangs in the kernel stays.
  void Kill();
  /// Waits until it has ended. Once.
  StatusOr<std::string> End();

 private:
  Running(const Program& program, pid_t pid, std::array<fs::Fd, 3> ends);
  void Feed();
  static bool Drain(fs::Fd& end, std::string& text, size_t most);

  const Program& program_;
  const pid_t pid_;
  fs::Fd ended_;
  std::array<fs::Fd, 3> ends_;  // of its stdin, stdout and stderr
  size_t fed_ = 0;
  std::string out_, err_;
  bool over_ = false;
  bool killed_ = false;
  bool reaped_ = false;
};

}  // namespace splitlet::process
