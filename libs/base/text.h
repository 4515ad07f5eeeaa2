#pragma once

/// Text is UTF-8 without NUL: what fits into a record's string, and into JSON. Bytes from outside
/// are made text where they enter, since one bad string makes all of its record unreadable.
/// Threads: any; nothing fails.

#include <cstddef>
#include <string>
#include <string_view>

namespace splitlet {

/// A string of a record that comes from outside and has no narrower limit.
inline constexpr size_t kMaxTextBytes = 4096;

/// Offset of the first byte that is not UTF-8; npos when all is.
size_t FindInvalidUtf8(std::string_view bytes);

/// No overlong forms, no surrogates, nothing above U+10FFFF, no NUL.
bool IsText(std::string_view bytes);

/// Each byte that is part of no character, and each NUL, as U+FFFD; at most `max_bytes` of it, cut
/// between two characters: the start, or for TailText the end.
std::string ToText(std::string_view bytes, size_t max_bytes = kMaxTextBytes);
std::string TailText(std::string_view bytes, size_t max_bytes = kMaxTextBytes);

/// Without the rest of a character whose start was cut off.
std::string_view SkipCutCharacter(std::string_view bytes);

}  // namespace splitlet
