#pragma once

/// SHA-256 (FIPS 180-4) of a text, in lower-case hex.
/// Threads: a pure function, any.
/// Errors:  none.

#include <string>
#include <string_view>

namespace splitlet {

std::string Sha256Hex(std::string_view text);

}  // namespace splitlet
