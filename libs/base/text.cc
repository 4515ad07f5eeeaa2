#include "libs/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "libs/base/one_line.h"

namespace splitlet {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr size_t kLongestCharacter = 4;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

struct Character {
  size_t bytes = 0;  // 0: the first byte is invalid
  uint32_t code = 0;
};

/// The first character of a text that is not empty.
Character FirstOf(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {1, first};
  size_t bytes = 0;
  uint32_t code = 0, least = 0;
  if ((first & 0xE0U) == 0xC0U) {
    bytes = 2, code = first & 0x1FU, least = 0x80;
  } else if ((first & 0xF0U) == 0xE0U) {
    bytes = 3, code = first & 0x0FU, least = 0x800;
  } else if ((first & 0xF8U) == 0xF0U) {
    bytes = 4, code = first & 0x07U, least = 0x10000;
  }
  if (bytes == 0 || text.size() < bytes) return {};
  for (const char c : text.substr(1, bytes - 1)) {
    if (!IsContinuation(c)) return {};
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < least || surrogate || code > 0x10FFFF ? Character{} : Character{bytes, code};
}

/// Calls `take(part, character)` for each character and each invalid byte.
template <class Take>
void ForEachCharacter(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const Character character = FirstOf(text);
    const size_t bytes = std::max<size_t>(character.bytes, 1);
    take(text.substr(0, bytes), character);
    text.remove_prefix(bytes);
  }
}

std::string Replaced(std::string_view bytes) {
  std::string text;
  ForEachCharacter(bytes, [&text](std::string_view part, const Character& character) {
    text += character.bytes == 0 || character.code == 0 ? kReplacement : part;
  });
  return text;
}

/// Characters that a terminal obeys: C0, DEL, C1, and marks that change the direction of text.
bool IsControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

size_t FindInvalidUtf8(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const Character character = FirstOf(bytes.substr(at));
    if (character.bytes == 0) return at;
    at += character.bytes;
  }
  return std::string_view::npos;
}

bool IsText(std::string_view bytes) {
  return FindInvalidUtf8(bytes) == std::string_view::npos &&
         bytes.find('\0') == std::string_view::npos;
}

std::string ToText(std::string_view bytes, size_t max_bytes) {
  // Each byte becomes one to three bytes, so bytes beyond the limit do not matter.
  std::string text =
      Replaced(bytes.substr(0, std::min(bytes.size(), max_bytes) + kLongestCharacter));
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && IsContinuation(text[end])) --end;
  text.resize(end);
  return text;
}

std::string TailText(std::string_view bytes, size_t max_bytes) {
  if (bytes.size() > max_bytes) bytes = SkipCutCharacter(bytes.substr(bytes.size() - max_bytes));
  std::string text = Replaced(bytes);
  if (text.size() > max_bytes)
    text = SkipCutCharacter(std::string_view(text).substr(text.size() - max_bytes));
  return text;
}

std::string_view SkipCutCharacter(std::string_view bytes) {
  size_t skip = 0;
  while (skip < std::min(bytes.size(), kLongestCharacter - 1) && IsContinuation(bytes[skip]))
    ++skip;
  return bytes.substr(skip);
}

std::string OneLine(std::string_view text) {
  std::string line;
  ForEachCharacter(text, [&line](std::string_view part, const Character& character) {
    if (character.bytes == 0 || (part.size() == 1 && IsControl(character.code))) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(part.front()));
    } else if (IsControl(character.code)) {
      line += fmt::format("\\u{:04x}", character.code);
    } else {
      line += part;
    }
  });
  return line;
}

}  // namespace splitlet
