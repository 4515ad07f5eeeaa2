#pragma once

/// Small hashes for names and spreading, not for secrets.
/// Threads: any; nothing fails.

#include <cstdint>
#include <string>
#include <string_view>

namespace splitlet {

uint64_t Fnv1a64(std::string_view text);
uint32_t Fnv1a32(std::string_view text);

/// Fnv1a64 as 16 lower-case hex digits.
std::string HexHash(std::string_view text);

}  // namespace splitlet
