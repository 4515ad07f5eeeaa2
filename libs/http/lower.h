#pragma once

/// Lower-cases names of headers, schemes and hosts, which compare without case. Any thread; nothing
/// fails.

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace splitlet::http {

inline std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace splitlet::http
