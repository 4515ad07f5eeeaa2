#pragma once

/// The event loop of a process. The thread that is in Run() is the loop thread; it owns the state.
/// Threads: Post, RunAfter, Stop from any; CancelTimer on the loop. Nothing fails.
/// Units: timers by CLOCK_MONOTONIC, so that they stand still while the machine sleeps.
/// Source: docs/design.md, "Threads and time".

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "libs/base/clock.h"
#include "libs/exec/exec.h"

namespace splitlet::exec {

class LoopThread final : public EventLoop {
 public:
  /// `clock` is a RealClock.
  explicit LoopThread(const Clock& clock) : clock_(clock) {}
  ~LoopThread() override;

  void Post(Task task) override;
  TimerId RunAfter(Duration delay, Task task) override;
  void CancelTimer(TimerId timer) override;
  bool IsCurrent() const override { return thread_.load() == std::this_thread::get_id(); }
  Duration Monotonic() const override { return clock_.Now().monotonic; }

  /// Runs tasks on this thread until Stop. Can be called again after it returned.
  void Run();
  /// Run returns after the current task; waiting tasks stay queued.
  void Stop();
  /// `hook` gets, after each wait, how long the task stood in the queue beyond its time. Set it
  /// before Run.
  void OnLag(std::function<void(Duration)> hook) { on_lag_ = std::move(hook); }

 private:
  struct Queued {
    Duration due;  // CLOCK_MONOTONIC
    Task task;
  };
  using Timers = std::map<std::pair<Duration, TimerId>, Task>;
  /// Moves timers that are due behind what was posted before.
  void TakeDueTimers();

  const Clock& clock_;
  std::function<void(Duration)> on_lag_;
  std::atomic<std::thread::id> thread_{};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Queued> queue_;
  Timers timers_;
  std::unordered_map<TimerId, Duration> due_of_;
  TimerId last_timer_ = 0;
  bool stopping_ = false;
};

}  // namespace splitlet::exec
