#pragma once

/// Errors are one line each, whatever the input brings that they quote.
/// Threads: any. Errors: none.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace splitlet {

/// Control characters as "\x0a".
inline std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    byte < ' ' || byte == 127 ? line += fmt::format("\\x{:02x}", byte) : line += c;
  }
  return line;
}

}  // namespace splitlet
