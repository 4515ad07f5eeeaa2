#pragma once

/// A JSON document as a value, for the patches of the server in memory.
/// Threads: values, any.
/// Errors: INVALID_ARGUMENT of a text that is no JSON or YAML.
/// Source: RFC 8259.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::apiclient {

struct Json {
  enum class Kind { kNull, kPlain, kString, kMap, kList };
  Kind kind = Kind::kNull;
  std::string text;  // plain: a number, true or false as JSON writes it; string: itself
  std::map<std::string, Json> members;
  std::vector<Json> items;

  static Json Map() { return Json{Kind::kMap, {}, {}, {}}; }
  static Json List() { return Json{Kind::kList, {}, {}, {}}; }
  static Json String(std::string text) { return Json{Kind::kString, std::move(text), {}, {}}; }

  bool is_null() const { return kind == Kind::kNull; }
  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  /// nullptr: it is no map, or has no such member.
  Json* Find(const std::string& key);
  const Json* Find(const std::string& key) const;
  /// Text of a string or plain member; "" without one.
  std::string TextOf(const std::string& key) const;
};

bool operator==(const Json& a, const Json& b);

StatusOr<Json> ParseJson(std::string_view text);
std::string WriteJson(const Json& json);

}  // namespace splitlet::apiclient
