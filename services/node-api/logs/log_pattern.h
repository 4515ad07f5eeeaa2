#pragma once

/// Refuses patterns for the journal whose search costs far more than their length. It parses each
/// in one pass, without compiling it. Accepts a kubelet's language of patterns, within bounds.
/// Threads: any.
/// Errors:  as text for the answer.
/// Source:  docs/behaviour/node-api.md, "Logs of the node"; Go's regexp/syntax.

#include <string>
#include <string_view>

namespace splitlet::node_api {

struct PatternProblem {
  bool costly = false;  // true: a valid pattern that costs too much; false: invalid
  std::string why;      // empty: accepted
};
PatternProblem FindPatternProblem(std::string_view pattern);

}  // namespace splitlet::node_api
