#pragma once

/// Paths and queries of requests. They are decoded once, so that authorization and handlers use the
/// same text.
/// Threads: any.
/// Errors: nullopt for a malformed path.
/// Source: RFC 3986; Go's net/url.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace splitlet::node_api {

/// Decodes "/a%2Fb" to "/a/b". nullopt: a broken escape, a NUL, no leading slash, an empty
/// component inside, or a component "." or "..".
std::optional<std::string> DecodePath(std::string_view path);

/// The components between slashes: "/a/b" and "/a/b/" give a and b.
std::vector<std::string> StepsOf(std::string_view path);

class Query {
 public:
  explicit Query(std::string_view text);
  /// The first value; nullopt: the key is absent.
  std::optional<std::string> Find(std::string_view key) const;
  /// The first value; empty if the key is absent.
  std::string Get(std::string_view key) const { return Find(key).value_or(""); }
  std::vector<std::string> All(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key).has_value(); }
  /// Parses a boolean as Kubernetes does: true unless the value is "false" or "0".
  bool IsSet(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace splitlet::node_api
