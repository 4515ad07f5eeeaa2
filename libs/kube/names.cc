#include "libs/kube/names.h"

#include <arpa/inet.h>

#include <algorithm>

#include "libs/kube/letters.h"

namespace splitlet::kube {
namespace {

constexpr std::string_view kLabelRule =
    "must be lower-case letters, digits and '-', with a letter or digit at both ends";
constexpr std::string_view kSubdomainRule =
    "must be lower-case letters, digits, '-' and '.', with a letter or digit at both ends of each "
    "part";
constexpr std::string_view kSearchRule =
    "must be lower-case letters, digits, '-', '_' and '.', with a letter or digit at both ends of "
    "each part, which may have an '_' before it";
constexpr std::string_view kNameRule =
    "must be letters, digits, '-', '_' and '.', with a letter or digit at both ends";

bool IsLabel(std::string_view text) {
  return !text.empty() && IsLowerAlnum(text.front()) && IsLowerAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

bool IsSearchLabel(std::string_view text) {
  if (text.starts_with('_')) text.remove_prefix(1);
  return !text.empty() && IsLowerAlnum(text.front()) && IsLowerAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLowerAlnum(c) || c == '-' || c == '_'; });
}

bool IsName(std::string_view text) {
  return !text.empty() && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string TooLong(size_t limit) {
  return "must be no more than " + std::to_string(limit) + " bytes";
}

std::string CheckLabels(std::string_view text, bool (*is_label)(std::string_view),
                        std::string_view rule) {
  if (text.size() > 253) return TooLong(253);
  if (text.empty()) return std::string(rule);
  while (true) {
    const size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return std::string(rule);
    if (dot == std::string_view::npos) return {};
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string CheckDnsLabel(std::string_view text) {
  if (text.size() > 63) return TooLong(63);
  return IsLabel(text) ? std::string() : std::string(kLabelRule);
}

std::string CheckDnsSubdomain(std::string_view text) {
  return CheckLabels(text, IsLabel, kSubdomainRule);
}

std::string CheckDnsSearch(std::string_view text) {
  return CheckLabels(text, IsSearchLabel, kSearchRule);
}

std::string CheckUid(std::string_view text) {
  const bool good =
      !text.empty() && text.size() <= 64 &&
      std::all_of(text.begin(), text.end(), [](char c) { return IsAlnum(c) || c == '-'; });
  return good ? std::string() : "must be at most 64 letters, digits and '-'";
}

std::string CheckQualifiedName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::string problem = CheckDnsSubdomain(text.substr(0, slash));
    if (!problem.empty()) return "prefix part " + problem;
    text.remove_prefix(slash + 1);
  }
  if (text.size() > 63) return "name part " + TooLong(63);
  return IsName(text) ? std::string() : "name part " + std::string(kNameRule);
}

std::string CheckLabelValue(std::string_view text) {
  if (text.size() > 63) return TooLong(63);
  return text.empty() || IsName(text) ? std::string() : std::string(kNameRule);
}

std::string CheckPortName(std::string_view text) {
  if (text.size() > 15) return TooLong(15);
  if (!IsLabel(text)) return std::string(kLabelRule);
  if (text.find("--") != std::string_view::npos) return "must not have two hyphens side by side";
  if (std::none_of(text.begin(), text.end(), IsLower)) return "must have at least one letter";
  return {};
}

std::string CheckEnvName(std::string_view text) {
  const bool printable = std::all_of(text.begin(), text.end(),
                                     [](char c) { return c >= 0x20 && c <= 0x7E && c != '='; });
  return printable && !text.empty() ? std::string() : "must be printable ASCII without '='";
}

std::string CheckHttpHeaderName(std::string_view text) {
  const bool good = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsAlnum(c) || c == '-' || c == '_';
  });
  return good ? std::string() : "must be letters, digits, '-' and '_'";
}

bool HasParentStep(std::string_view path) {
  while (true) {
    const size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

bool IsIp(const std::string& text) {
  unsigned char buffer[sizeof(in6_addr)];
  return inet_pton(AF_INET, text.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, text.c_str(), buffer) == 1;
}

}  // namespace splitlet::kube
