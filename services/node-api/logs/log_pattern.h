#pragma once

/// Finds patterns for the journal whose search costs far more than their length. Reads each in one
/// pass, without compiling it. Accepts a kubelet's language of patterns, within bounds.
/// Threads: any.
/// Errors:  as a text for the answer.
/// Source:  docs/behaviour/node-api.md, "Logs of the node"; Go's regexp/syntax.

#include <string>
#include <string_view>

namespace splitlet::node_api {

struct PatternProblem {
  bool costly = false;  // a pattern, but one that is refused; else it is none
  std::string why;      // empty: it is taken
};
PatternProblem FindPatternProblem(std::string_view pattern);

}  // namespace splitlet::node_api
