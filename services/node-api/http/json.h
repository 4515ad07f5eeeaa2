#pragma once

/// Writes a JSON object, one call for each member.
/// Threads: one; nothing fails.

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/text_writer.h"
#include "libs/kube/time_text.h"

namespace splitlet::node_api {

class JsonObject {
 public:
  explicit JsonObject(kube::JsonWriter& writer) : writer_(writer) { writer_.BeginMap(); }
  ~JsonObject() { writer_.EndMap(); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  void Text(std::string_view key, std::string_view value) {
    writer_.Key(key);
    writer_.String(value);
  }
  template <class T>
  void Number(std::string_view key, T value) {
    writer_.Key(key);
    writer_.Plain(fmt::format("{}", value));
  }
  void Flag(std::string_view key, bool value) {
    writer_.Key(key);
    writer_.Plain(value ? "true" : "false");
  }
  /// Writes "1m30s".
  void Span(std::string_view key, Duration value) {
    Text(key, kube::FormatDuration(value.count()));
  }
  void Time(std::string_view key, int64_t wall_ns) {
    Text(key, FormatRfc3339(WallFromNanos(wall_ns)));
  }
  void Texts(std::string_view key, const std::vector<std::string>& values) {
    writer_.Key(key);
    writer_.BeginList();
    for (const auto& value : values) writer_.String(value);
    writer_.EndList();
  }
  void Map(std::string_view key, const std::map<std::string, std::string>& values) {
    writer_.Key(key);
    writer_.BeginMap();
    for (const auto& [name, value] : values) {
      writer_.Key(name);
      writer_.String(value);
    }
    writer_.EndMap();
  }
  /// Writes the key; the caller writes the value next.
  kube::JsonWriter& Member(std::string_view key) {
    writer_.Key(key);
    return writer_;
  }

 private:
  kube::JsonWriter& writer_;
};

}  // namespace splitlet::node_api
