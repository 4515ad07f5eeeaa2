#pragma once

/// Slots for runs at the same time, as of probes and hooks; further runs wait in order. Slow runs
/// may use only half of the slots. So calls that hang leave slots for calls that are answered.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  docs/behaviour/probes.md, "One run".

#include <cstddef>
#include <deque>
#include <functional>

namespace splitlet::exec {

class RunSlots {
 public:
  struct Limits {
    size_t at_once = 0;
    size_t waiting = 0;
  };
  explicit RunSlots(Limits limits) : limits_(limits) {}

  using Start = std::function<void()>;
  /// Runs `start` immediately, or when a slot is free. False: too many runs wait.
  bool Enter(bool slow, Start start);
  /// At the end of a run that was started.
  void Leave(bool slow);
  /// Drops the runs that wait, and starts no other.
  void Close();

 private:
  struct Lane {
    size_t running = 0;
    std::deque<Start> waiting;
  };
  void StartNext();

  const Limits limits_;
  Lane fast_, slow_;
  bool closed_ = false;
};

}  // namespace splitlet::exec
