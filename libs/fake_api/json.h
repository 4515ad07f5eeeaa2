#pragma once

/// A JSON document as a value, for the patches of the fake API server.
/// Threads: values, any.
/// Errors: INVALID_ARGUMENT: the text is neither JSON nor YAML.
/// Source: RFC 8259.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::fake_api {

struct Json {
  enum class Kind { kNull, kPlain, kString, kMap, kList };
  Kind kind = Kind::kNull;
  std::string text;  // plain: a number, true or false in JSON's spelling; string: the string itself
  std::map<std::string, Json> members;
  std::vector<Json> items;

  static Json Map() { return Json{Kind::kMap, {}, {}, {}}; }
  static Json List() { return Json{Kind::kList, {}, {}, {}}; }
  static Json String(std::string text) { return Json{Kind::kString, std::move(text), {}, {}}; }

  bool is_null() const { return kind == Kind::kNull; }
  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  /// nullptr if this is not a map or lacks the member.
  Json* Find(const std::string& key);
  const Json* Find(const std::string& key) const;
  /// Text of a string or plain member; "" if absent.
  std::string TextOf(const std::string& key) const;
};

bool operator==(const Json& a, const Json& b);

StatusOr<Json> ParseJson(std::string_view text);
std::string WriteJson(const Json& json);

}  // namespace splitlet::fake_api
