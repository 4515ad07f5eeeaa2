#pragma once

/// Rounds of garbage collection, one after the other.
/// In:    rounds, from GcService: its timers and Gc.Run.
/// Owns:  the rounds that wait, and whether one runs.
/// Out:   the start of each round; a round says itself when it has ended.
/// Killed at any line: rounds that waited are lost; the timers bring new ones.
/// Threads: loop thread only.
/// Errors: none; who adds looks first whether it is full.

#include <cstddef>
#include <deque>
#include <functional>
#include <string_view>

namespace splitlet::gc {

/// All that blocks in a round runs here.
inline constexpr std::string_view kRoundStrand = "gc";

class RoundQueue {
 public:
  static constexpr size_t kMaxWaiting = 8;

  bool full() const { return rounds_.size() >= kMaxWaiting; }
  size_t waiting() const { return rounds_.size(); }
  /// Begins at once when none runs.
  void Add(std::function<void()> round);
  /// The one that ran has ended.
  void Next();

 private:
  std::deque<std::function<void()>> rounds_;
  bool busy_ = false;
};

}  // namespace splitlet::gc
