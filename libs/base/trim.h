#pragma once

/// Text without surrounding blanks and line ends, as in files of settings and of the kernel.
/// Threads: any; nothing fails. The result is a part of the argument.

#include <string_view>

namespace splitlet {

inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// The first line, trimmed.
inline std::string_view FirstLine(std::string_view text) {
  return Trimmed(text.substr(0, text.find('\n')));
}

}  // namespace splitlet
