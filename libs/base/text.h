#pragma once

/// Text is UTF-8 without NUL, as strings of records and JSON require. Bytes from outside are
/// converted where they enter, because one invalid string makes its whole record unreadable.
/// Threads: any; nothing fails.

#include <cstddef>
#include <string>
#include <string_view>

namespace splitlet {

/// Limit for an outside string in a record that has no narrower limit.
inline constexpr size_t kMaxTextBytes = 4096;

/// Offset of the first byte that is not UTF-8; npos if all are.
size_t FindInvalidUtf8(std::string_view bytes);

/// Valid: no overlong forms, no surrogates, nothing above U+10FFFF, no NUL.
bool IsText(std::string_view bytes);

/// Replaces each invalid byte and each NUL by U+FFFD; at most `max_bytes`, cut between two
/// characters: ToText keeps the start, TailText the end.
std::string ToText(std::string_view bytes, size_t max_bytes = kMaxTextBytes);
std::string TailText(std::string_view bytes, size_t max_bytes = kMaxTextBytes);

/// Skips the rest of a character whose start was cut off.
std::string_view SkipCutCharacter(std::string_view bytes);

}  // namespace splitlet
