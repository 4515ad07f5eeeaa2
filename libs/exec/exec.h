#pragma once

/// What runs code in a process: the event loop thread, which owns the state, and strands for work
/// that blocks. Real: loop_thread.h, strand_pool.h; on virtual time: fake_exec.h.
/// Threads: Post, Run and timers from any; nothing fails.
/// Source: docs/design.md, "Threads and time".

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/clock.h"

namespace splitlet::exec {

using Task = std::function<void()>;
using TimerId = uint64_t;  // 0 is no timer

class EventLoop {
 public:
  virtual ~EventLoop() = default;
  /// Runs `task` on the loop, after all that was posted before it.
  virtual void Post(Task task) = 0;
  /// Runs `task` on the loop once, not before `delay` has passed.
  virtual TimerId RunAfter(Duration delay, Task task) = 0;
  /// No effect when it ran already or is unknown. Called on the loop: the timer does not run any
  /// more.
  virtual void CancelTimer(TimerId timer) = 0;
  virtual bool IsCurrent() const = 0;
  /// CLOCK_MONOTONIC, as its timers see it.
  virtual Duration Monotonic() const = 0;
};

/// Work that may block. Tasks of one key run one at a time in the order given; keys run side by
/// side on a capped, elastic pool; a key without work holds no thread.
class Strands {
 public:
  virtual ~Strands() = default;
  virtual void Run(const std::string& key, Task task) = 0;
  /// Tasks of `key` that wait or run.
  virtual size_t Pending(const std::string& key) const = 0;
};

/// How long from `now` (CLOCK_MONOTONIC) to the next round of something done every `period`: at
/// most that long, and to the end of a whole second, or of a fraction that the period is. So the
/// rounds of all processes wake the machine together. Other periods stay as they are.
Duration UntilRound(Duration now, Duration period);

/// Runs `task` on the loop every `period` until destroyed, the first time as UntilRound says; also
/// soon after Kick(). Loop thread only.
class Periodic {
 public:
  Periodic(EventLoop& loop, Duration period, Task task);
  ~Periodic();
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;
  void SetPeriod(Duration period);  ///< from the next round on
  void Kick();                      ///< runs soon, then as before

 private:
  void Arm(Duration delay);
  EventLoop& loop_;
  Duration period_;
  Task task_;
  TimerId timer_ = 0;
};

}  // namespace splitlet::exec
