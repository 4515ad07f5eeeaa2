#pragma once

/// Outside text as one line that is safe on a terminal: errors that quote their input, and cells of
/// splitletctl's tables, whose text a pod may have chosen.
/// Threads: any; nothing fails.

#include <string>
#include <string_view>

namespace splitlet {

/// Replaces control characters and invalid bytes by "\x0a", wider ones (C1, marks that change the
/// direction of text) by "\u009b".
std::string OneLine(std::string_view text);

}  // namespace splitlet
