#pragma once

/// Slots for probes and hooks that run at the same time; further runs wait in order. A probe whose
/// last run was slow may use only half of the slots. So containers that hang leave slots for
/// containers that answer.
/// Threads: the loop's.
/// Errors:  none.
/// Units:   Duration.
/// Source:  docs/behaviour/probes.md, "One run".

#include <deque>
#include <functional>

#include "libs/base/clock.h"

namespace splitlet::pod_worker {

/// A run that holds its slot for so long is slow.
inline constexpr Duration kSlowProbe = std::chrono::milliseconds{500};

class ProbeSlots {
 public:
  struct Limits {
    size_t at_once = 0;
    size_t waiting = 0;
  };
  explicit ProbeSlots(Limits limits) : limits_(limits) {}

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

}  // namespace splitlet::pod_worker
