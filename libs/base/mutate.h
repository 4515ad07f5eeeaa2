#pragma once

/// Almost correct texts for tests, made from correct ones; each seed gives another text.
/// Threads: one; nothing fails.

#include <algorithm>
#include <string>
#include <vector>

#include "libs/base/random.h"

namespace splitlet {

/// Cuts, repeats, overwrites and splices up to six places of `text`. `corpus` is not empty.
inline std::string Mutate(std::string text, const std::vector<std::string>& corpus,
                          const std::vector<std::string>& tokens, Random& random) {
  const auto pick = [&random](size_t n) { return n == 0 ? 0 : random.Below(n); };
  for (size_t i = pick(6) + 1; i > 0; --i) {
    const size_t at = pick(text.size() + 1);
    const size_t length = pick(std::min<size_t>(text.size() - at, 40) + 1);
    const std::string& other = corpus[pick(corpus.size())];
    switch (pick(5)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(pick(text.size() + 1), pick(60))); break;
      case 2:
        if (!tokens.empty()) text.insert(at, tokens[pick(tokens.size())]);
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random.Next());
        break;
      default: text.replace(at, length, other.substr(pick(other.size()), pick(100)));
    }
  }
  return text;
}

}  // namespace splitlet
