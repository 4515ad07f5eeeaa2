#include "services/node-api/http/url.h"

#include <algorithm>
#include <cctype>

namespace splitlet::node_api {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<std::string> Unescape(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out += ' ';
      continue;
    }
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

std::optional<std::string> DecodePath(std::string_view path) {
  auto decoded = Unescape(path, false);
  if (!decoded || !decoded->starts_with('/') || decoded->find('\0') != std::string::npos)
    return std::nullopt;
  if (decoded->find("//") != std::string::npos) return std::nullopt;
  const auto steps = StepsOf(*decoded);
  const bool dots =
      std::ranges::any_of(steps, [](const auto& step) { return step == "." || step == ".."; });
  return dots ? std::nullopt : decoded;
}

std::vector<std::string> StepsOf(std::string_view path) {
  std::vector<std::string> steps;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (slash != 0) steps.emplace_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return steps;
}

Query::Query(std::string_view text) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(part.size() == text.size() ? text.size() : part.size() + 1);
    const auto equals = part.find('=');
    const auto key = Unescape(part.substr(0, equals), true);
    const auto value = Unescape(
        equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1), true);
    if (key && value && !key->empty()) pairs_.emplace_back(*key, *value);
  }
}

std::optional<std::string> Query::Find(std::string_view key) const {
  for (const auto& [name, value] : pairs_)
    if (name == key) return value;
  return std::nullopt;
}

std::vector<std::string> Query::All(std::string_view key) const {
  std::vector<std::string> all;
  for (const auto& [name, value] : pairs_)
    if (name == key) all.push_back(value);
  return all;
}

bool Query::IsSet(std::string_view key) const {
  const auto value = Find(key);
  if (!value) return false;
  std::string lower = *value;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower != "false" && lower != "0";
}

}  // namespace splitlet::node_api
