#pragma once

/// What a node has that its runtime has lost sight of, so that nobody can have it removed through
/// CRI. Things are lines as Node::Things gives them.
/// Threads: pure functions, any. Errors: none.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ctl/chaos/node.h"

namespace splitlet::chaos {

/// The id of the sandbox or container that such a thing belongs to; empty: of none.
std::string IdOf(const std::string& thing);

/// Those whose id the runtime does not list. What has no id is somebody's, but for a network
/// namespace: its name tells no sandbox, so it is nobody's only when there is none.
std::set<std::string> ForgottenOf(const std::set<std::string>& things, const Snapshot& listed);

/// Times at which calls to the runtime were cut off, because it or who called it died. Only
/// what was there then, or just made or removed, can have been lost by it.
class Cuts {
 public:
  void Add(Duration from, Duration to) { cuts_.emplace_back(from, to); }
  void OnListed(const Snapshot& listed, Duration now);
  bool empty() const { return cuts_.empty(); }
  /// Those of `things` that a cut can have let be lost.
  std::set<std::string> Affected(const std::set<std::string>& things) const;

 private:
  using Span = std::pair<Duration, Duration>;
  std::vector<Span> cuts_;
  std::map<std::string, Span> lives_;  // id -> listed first and last
};

}  // namespace splitlet::chaos
