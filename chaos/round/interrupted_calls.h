#pragma once

/// When calls to the runtime were interrupted, because it or its caller died. Only what was there
/// then, or just made or removed, can have been lost by it.
/// In: faults as Engine begins them; what the runtime lists.
/// Owns: those times, and when each sandbox and container was listed.
/// Threads: one.
/// Errors: none.
/// Units: durations from the start of the round.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chaos/node/node.h"

namespace splitlet::chaos {

class InterruptedCalls {
 public:
  void Add(Duration from, Duration to) { times_.emplace_back(from, to); }
  void OnListed(const Snapshot& listed, Duration now);
  bool empty() const { return times_.empty(); }
  /// Those of `resources` that can have been lost by an interruption.
  std::set<std::string> Affected(const std::set<std::string>& resources) const;

 private:
  using Span = std::pair<Duration, Duration>;
  std::vector<Span> times_;
  std::map<std::string, Span> listed_;  // id -> listed first and last
};

}  // namespace splitlet::chaos
