#pragma once

/// Times at which calls to the runtime were interrupted, because the runtime or its caller died.
/// Only sandboxes and containers that existed then, or were just being created or removed, can be
/// lost.
/// In: faults from Engine; lists of the runtime.
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
  /// The members of `resources` that an interrupted call may have lost.
  std::set<std::string> Affected(const std::set<std::string>& resources) const;

 private:
  using Span = std::pair<Duration, Duration>;
  std::vector<Span> times_;
  std::map<std::string, Span> listed_;  // id -> when it was first and last listed
};

}  // namespace splitlet::chaos
