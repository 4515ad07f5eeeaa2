#pragma once

/// So many runs of probes at a time; others wait in order. A probe that was slow when it last ran
/// may have only half of the places: those whose containers hang never take the last from those
/// whose containers answer.
/// Threads: the loop's.
/// Errors:  none.
/// Units:   Duration.
/// Source:  docs/behaviour/probes.md, "One run".

#include <deque>
#include <functional>

#include "libs/base/clock.h"

namespace splitlet::pod_worker {

/// From when a run holds its place so long that it is slow.
inline constexpr Duration kSlowProbe = std::chrono::milliseconds{500};

class Places {
 public:
  struct Limits {
    size_t at_once = 0;
    size_t waiting = 0;
  };
  explicit Places(Limits limits) : limits_(limits) {}

  using Start = std::function<void()>;
  /// Runs `start` at once or when there is a place. False: too many wait.
  bool Enter(bool slow, Start start);
  /// Of a run that was started.
  void Leave(bool slow);
  /// Those that wait are dropped, and none is started any more.
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
