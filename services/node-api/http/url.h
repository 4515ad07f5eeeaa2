#pragma once

/// Paths and queries of requests, decoded once, so that who is let in and what is answered go by
/// the same text.
/// Threads: any.
/// Errors: a text that is no path is nullopt.
/// Source: RFC 3986; Go's net/url.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace splitlet::node_api {

/// Of "/a%2Fb": "/a/b". None: a broken escape, a NUL, no leading slash, an empty step inside, or
/// one of dots.
std::optional<std::string> DecodePath(std::string_view path);

/// Between slashes: "/a/b" and "/a/b/" give a and b.
std::vector<std::string> StepsOf(std::string_view path);

class Query {
 public:
  explicit Query(std::string_view text);
  /// The first; none: the key is not there.
  std::optional<std::string> Find(std::string_view key) const;
  /// Empty where it is not there.
  std::string Get(std::string_view key) const { return Find(key).value_or(""); }
  std::vector<std::string> All(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key).has_value(); }
  /// A flag as Kubernetes reads it: "false" and "0" are not set, any other value is.
  bool IsSet(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

}  // namespace splitlet::node_api
