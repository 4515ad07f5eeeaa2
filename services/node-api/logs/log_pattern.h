#pragma once

/// What of a pattern for the journal may cost more than its length says: it is read in one pass,
/// without compiling it. Taken is what a kubelet's language of patterns has, within bounds.
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
