#pragma once

/// Runs rounds of garbage collection one after the other.
/// In:    rounds, from GarbageCollector.
/// Owns:  the waiting rounds, and whether a round runs.
/// Out:   the start of each round. The round calls Next when it has ended.
/// Killed at any line: waiting rounds are lost; the timers add new ones.
/// Threads: loop thread only.
/// Errors: none; the caller of Add checks full() first.

#include <cstddef>
#include <deque>
#include <functional>
#include <string_view>

namespace splitlet::gc {

/// The strand for the blocking work of all rounds.
inline constexpr std::string_view kRoundStrand = "gc";

class RoundQueue {
 public:
  static constexpr size_t kMaxWaiting = 8;

  bool full() const { return rounds_.size() >= kMaxWaiting; }
  size_t waiting() const { return rounds_.size(); }
  /// Starts the round immediately when no round runs.
  void Add(std::function<void()> round);
  /// The running round has ended: starts the next one.
  void Next();

 private:
  std::deque<std::function<void()>> rounds_;
  bool busy_ = false;
};

}  // namespace splitlet::gc
