#include "services/node-api/http/bearer_token.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "libs/base/trim.h"
#include "libs/kube/time_text.h"

namespace splitlet::node_api {
namespace {

constexpr std::string_view kProtocolPrefix = "base64url.bearer.authorization.k8s.io.";

std::vector<std::string_view> ListOf(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (const auto item = Trimmed(text.substr(0, comma)); !item.empty()) items.push_back(item);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return items;
}

bool IsBearer(std::string_view scheme) {
  return std::ranges::equal(scheme, std::string_view("bearer"), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

/// Decodes the URL-safe alphabet, without padding.
std::optional<std::string> DecodeUrlBase64(std::string_view text) {
  std::string standard(text);
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  auto decoded = kube::DecodeBase64(standard);
  if (!decoded.ok()) return std::nullopt;
  return *std::move(decoded);
}

StatusOr<std::optional<std::string>> ProtocolToken(std::string_view protocols) {
  std::vector<std::string_view> tokens;
  const auto items = ListOf(protocols);
  std::ranges::copy_if(items, std::back_inserter(tokens),
                       [](auto item) { return item.starts_with(kProtocolPrefix); });
  if (tokens.empty()) return std::optional<std::string>();
  if (tokens.size() > 1) return Unauthenticated("more than one protocol holds a token");
  auto token = DecodeUrlBase64(tokens.front().substr(kProtocolPrefix.size()));
  if (!token) return Unauthenticated("the protocol that holds a token cannot be decoded");
  if (token->empty()) return std::optional<std::string>();
  if (items.size() < 2) return Unauthenticated("the list contains no protocol besides the token");
  return token;
}

}  // namespace

StatusOr<std::optional<std::string>> TokenOf(const https::Request& request) {
  const std::string_view header = Trimmed(request.Header("Authorization"));
  const auto blank = header.find(' ');
  if (blank != std::string_view::npos && IsBearer(header.substr(0, blank))) {
    const std::string_view token = Trimmed(header.substr(blank));
    if (!token.empty()) return std::optional(std::string(token.substr(0, token.find(' '))));
  }
  return ProtocolToken(request.Header("Sec-WebSocket-Protocol"));
}

std::string WithoutTokens(std::string_view protocols) {
  std::string kept;
  for (const std::string_view item : ListOf(protocols)) {
    if (item.starts_with(kProtocolPrefix)) continue;
    if (!kept.empty()) kept += ", ";
    kept += item;
  }
  return kept;
}

}  // namespace splitlet::node_api
