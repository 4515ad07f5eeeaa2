#pragma once

/// What comes from outside, as one line that a terminal only shows: errors that quote their input,
/// and cells that splitletctl prints, whose text a pod may have chosen.
/// Threads: any; nothing fails.

#include <string>
#include <string_view>

namespace splitlet {

/// Control characters and bytes that are no UTF-8 as "\x0a", wider ones (C1, marks that turn the
/// direction of text) as "\u009b".
std::string OneLine(std::string_view text);

}  // namespace splitlet
