#include "services/pod-worker/runtime_config/quoted_text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "libs/base/text.h"

namespace splitlet::pod_worker {

namespace {

/// The first character of `text`; one byte where it is not UTF-8.
std::string_view FirstCharacter(std::string_view text) {
  const int ones = std::countl_one(static_cast<unsigned char>(text[0]));
  const std::string_view character = text.substr(0, static_cast<size_t>(std::max(ones, 1)));
  return FindInvalidUtf8(character) == std::string_view::npos ? character : text.substr(0, 1);
}

/// `character`: at least two bytes.
uint32_t CodePointOf(std::string_view character) {
  uint32_t value = static_cast<unsigned char>(character[0]) & (0x7FU >> character.size());
  for (const char c : character.substr(1)) value = value << 6U | (static_cast<uint8_t>(c) & 0x3FU);
  return value;
}

std::string QuotedAscii(char c) {
  static constexpr std::pair<char, char> kShort[] = {{'"', '"'},  {'\\', '\\'}, {'\a', 'a'},
                                                     {'\b', 'b'}, {'\f', 'f'},  {'\n', 'n'},
                                                     {'\r', 'r'}, {'\t', 't'},  {'\v', 'v'}};
  const auto* found = std::ranges::find(kShort, c, &std::pair<char, char>::first);
  if (found != std::end(kShort)) return {'\\', found->second};
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte < 0x7f) return {c};
  return fmt::format("\\x{:02x}", byte);
}

std::string QuotedCharacter(std::string_view character) {
  static const re2::RE2 kPrinted(R"([\pL\pM\pN\pP\pS])");
  if (character.size() == 1) return QuotedAscii(character[0]);
  if (re2::RE2::FullMatch({character.data(), character.size()}, kPrinted))
    return std::string(character);
  const uint32_t code = CodePointOf(character);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

}  // namespace

std::string GoQuoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::string_view character = FirstCharacter(text);
    out += QuotedCharacter(character);
    text.remove_prefix(character.size());
  }
  return out + '"';
}

}  // namespace splitlet::pod_worker
