#pragma once

/// Lines of `describe`: keys and values in two columns.
/// Threads: values.
/// Errors: none; a terminal only shows what values quote.

#include <map>
#include <string>
#include <string_view>

#include "libs/base/one_line.h"
#include "libs/operate/text.h"

namespace splitlet::ctl {

/// Lines "Key:   value", values in one column.
class Fields {
 public:
  explicit Fields(size_t indent = 0, size_t column = 18) : indent_(indent), column_(column) {}
  void Add(std::string_view key, std::string_view value) {
    value = value.substr(0, value.find_last_not_of(' ') + 1);
    const std::string head = std::string(indent_, ' ') + OneLine(key) + ":";
    text_ += head + std::string(head.size() < column_ ? column_ - head.size() : 1, ' ') +
             operate::Lines(value, column_) + "\n";
  }
  void AddIf(std::string_view key, std::string_view value) {
    if (!value.empty()) Add(key, value);
  }
  void Head(std::string_view key) { text_ += std::string(indent_, ' ') + std::string(key) + ":\n"; }
  void Raw(std::string_view text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  size_t indent_, column_;
  std::string text_;
};

/// "key=value" of each, in the order of the keys; "<none>" without any.
template <class Map>
std::string MapText(const Map& map) {
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  std::string text;
  for (const auto& [key, value] : sorted) {
    if (!text.empty()) text += '\n';
    text.append(key).append("=").append(value);
  }
  return text.empty() ? "<none>" : text;
}

inline std::string OrNone(const std::string& text) { return text.empty() ? "<none>" : text; }

}  // namespace splitlet::ctl
