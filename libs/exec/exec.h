#pragma once

/// The two places where a process runs code: the event loop thread, which owns the state, and
/// strands for blocking work. Real: loop_thread.h, strand_pool.h; on virtual time: fake_exec.h.
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
  /// No effect on a timer that ran already or is unknown. After a call on the loop the timer does
  /// not run.
  virtual void CancelTimer(TimerId timer) = 0;
  virtual bool IsCurrent() const = 0;
  /// CLOCK_MONOTONIC, the clock of the timers.
  virtual Duration Monotonic() const = 0;
};

/// Blocking work. Tasks of one key run one at a time, in the order given. Keys run in parallel on
/// a capped, elastic pool; a key without work holds no thread.
class Strands {
 public:
  virtual ~Strands() = default;
  virtual void Run(const std::string& key, Task task) = 0;
  /// Tasks of `key` that wait or run.
  virtual size_t Pending(const std::string& key) const = 0;
};

}  // namespace splitlet::exec
