#include "libs/config/schema.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string>

#include "libs/config/fields.h"
#include "libs/config/reader.h"
#include "libs/config/scalars.h"

namespace splitlet::config {
namespace {

using Problems = std::vector<ConfigProblem>;

bool HasWord(std::string_view words, std::string_view word) {
  return words.empty() ||
         ("|" + std::string(words) + "|").find(fmt::format("|{}|", word)) != std::string::npos;
}

std::string Listed(std::string_view words) {
  std::string list;
  for (const char c : words) list += c == '|' ? std::string(", ") : std::string(1, c);
  return list;
}

std::string Shown(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map: return "an object";
    case YAML::NodeType::Sequence: return "a list";
    case YAML::NodeType::Null: return "null";
    case YAML::NodeType::Scalar: {
      const std::string& text = node.Scalar();
      const std::string start = text.substr(0, 40) + (text.size() > 40 ? "..." : "");
      return IsQuoted(node) || IsString(node) ? fmt::format("\"{}\"", start) : start;
    }
    case YAML::NodeType::Undefined: return "nothing";
  }
  return "nothing";
}

/// Walks the document and collects problems.
class Checker {
 public:
  Problems Run(const YAML::Node& document) {
    Object(document, "");
    return std::move(problems_);
  }

 private:
  void Add(const YAML::Node& node, std::string_view key, std::string reason) {
    const YAML::Mark mark = node.Mark();
    problems_.push_back({std::string(key), std::move(reason), mark.is_null() ? 0 : mark.line + 1});
  }

  /// A kubelet only warns of these. Settings of splitlet itself have no older readers, so they are
  /// errors.
  void AddExtra(const YAML::Node& node, std::string_view key, std::string reason) {
    Add(node, key, std::move(reason));
    problems_.back().only_strict = key != "splitlet" && !key.starts_with("splitlet.");
  }

  void WrongType(const YAML::Node& node, std::string_view key, std::string_view wanted) {
    Add(node, key, fmt::format("want {}, not {}", wanted, Shown(node)));
  }

  /// `prefix`: "" or "authentication." or "registerWithTaints[].".
  void Object(const YAML::Node& node, const std::string& prefix) {
    if (!node.IsMap())
      return WrongType(node, prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1),
                       "an object");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const YAML::Node& name = entry.first;
      const YAML::Node& value = entry.second;
      const std::string key = prefix + (name.IsScalar() ? name.Scalar() : "?");
      if (!seen.insert(key).second) AddExtra(name, key, "duplicate key");
      Member(name, value, key);
    }
  }

  void Member(const YAML::Node& name, const YAML::Node& value, const std::string& key) {
    const Field* field = FindField(key);
    if (field != nullptr) {
      if (!value.IsNull()) Value(value, *field, key);
    } else if (IsObjectPath(key)) {
      if (!value.IsNull()) Object(value, key + ".");
    } else {
      AddExtra(name, key, "unknown key");
    }
  }

  void Value(const YAML::Node& node, const Field& field, const std::string& key) {
    switch (field.kind) {
      case FieldKind::kFree: return;
      case FieldKind::kStrings:
      case FieldKind::kInts:
      case FieldKind::kObjects: return List(node, field, key);
      case FieldKind::kStringMap:
      case FieldKind::kHeaders:
      case FieldKind::kBoolMap:
      case FieldKind::kUserMap:
      case FieldKind::kQuantityMap:
      case FieldKind::kThresholds:
      case FieldKind::kDurationMap:
      case FieldKind::kPercentMap: return Map(node, field, key);
      case FieldKind::kBool:
      case FieldKind::kInt:
      case FieldKind::kFloat:
      case FieldKind::kString:
      case FieldKind::kDuration:
      case FieldKind::kDurationOrNanos:
      case FieldKind::kQuantity: return Scalar(node, field, field.kind, key);
    }
  }

  void List(const YAML::Node& node, const Field& field, const std::string& key) {
    if (!node.IsSequence()) return WrongType(node, key, "a list");
    size_t index = 0;
    for (const YAML::Node& item : node) {
      const std::string where = fmt::format("{}[{}]", key, index++);
      if (field.kind == FieldKind::kObjects) {
        Object(item, key + "[].");
      } else {
        Scalar(item, field, field.kind == FieldKind::kInts ? FieldKind::kInt : FieldKind::kString,
               where);
      }
    }
  }

  void Map(const YAML::Node& node, const Field& field, const std::string& key) {
    if (!node.IsMap()) return WrongType(node, key, "an object");
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const YAML::Node& name = entry.first;
      const YAML::Node& value = entry.second;
      const std::string where = fmt::format("{}[{}]", key, name.Scalar());
      if (!seen.insert(name.Scalar()).second) AddExtra(name, where, "duplicate key");
      if (field.kind != FieldKind::kHeaders && !HasWord(field.words, name.Scalar())) {
        Add(name, where, fmt::format("{} is not one of {}", name.Scalar(), Listed(field.words)));
      } else if (field.kind == FieldKind::kHeaders) {
        List(value, {.path = {}, .kind = FieldKind::kStrings}, where);
      } else {
        Entry(value, field, where);
      }
    }
  }

  /// Checks one value of a map.
  void Entry(const YAML::Node& node, const Field& field, const std::string& key) {
    Field value{.path = {},
                .kind = FieldKind::kString,
                .zero = Zero::kCounts,
                .min = field.min,
                .max = field.max};
    if (field.kind == FieldKind::kBoolMap) value.kind = FieldKind::kBool;
    if (field.kind == FieldKind::kDurationMap) value.kind = FieldKind::kDuration;
    if (field.kind == FieldKind::kQuantityMap) value.kind = FieldKind::kQuantity;
    if (field.kind == FieldKind::kThresholds || field.kind == FieldKind::kPercentMap)
      return Threshold(node, field, key);
    if (field.kind == FieldKind::kUserMap) return User(node, field, key);
    const size_t before = problems_.size();
    Scalar(node, value, value.kind, key);
    if (value.kind == FieldKind::kQuantity && problems_.size() == before &&
        ParseQuantityMillis(node.Scalar()).value_or(0) < 0)
      Add(node, key, fmt::format("{} is negative", node.Scalar()));
  }

  void User(const YAML::Node& node, const Field& field, const std::string& key) {
    if (const auto id = ReadInt(node)) return Range(node, field, key, *id);
    if (!IsString(node) || node.Scalar().empty()) WrongType(node, key, "the id or name of a user");
  }

  void Threshold(const YAML::Node& node, const Field& field, const std::string& key) {
    if (!node.IsScalar()) return WrongType(node, key, "a quantity or a percentage");
    const std::string& text = node.Scalar();
    if (!text.empty() && text.back() == '%') {
      const auto percent = ParsePercent(text);
      if (!percent.ok()) Add(node, key, Message(percent.status()));
      return;
    }
    if (field.kind == FieldKind::kPercentMap) return WrongType(node, key, "a percentage");
    const auto millis = ParseQuantityMillis(text);
    if (!millis.ok()) return WrongType(node, key, "a quantity or a percentage");
    if (*millis < 0 || (*millis == 0 && field.zero == Zero::kUnset))
      Add(node, key, fmt::format("{} is not above zero", text));
  }

  void Scalar(const YAML::Node& node, const Field& field, FieldKind kind, const std::string& key) {
    if (kind == FieldKind::kInt) return Integer(node, field, key);
    if (kind == FieldKind::kString) return String(node, field, key);
    if (kind == FieldKind::kDurationOrNanos && ReadInt(node))
      return Range(node, field, key, *ReadInt(node));
    if (kind == FieldKind::kDuration || kind == FieldKind::kDurationOrNanos)
      return DurationValue(node, field, key);
    if (kind == FieldKind::kBool && !ReadBool(node)) WrongType(node, key, "true or false");
    if (kind == FieldKind::kFloat && !ReadFloat(node)) WrongType(node, key, "a number");
    if (kind == FieldKind::kQuantity &&
        (!node.IsScalar() || !ParseQuantityMillis(node.Scalar()).ok()))
      WrongType(node, key, "a quantity such as 10Mi");
  }

  void String(const YAML::Node& node, const Field& field, const std::string& key) {
    if (!IsString(node)) return WrongType(node, key, "a string");
    const std::string& text = node.Scalar();
    if (text.empty() && field.zero == Zero::kUnset) return;
    if (!HasWord(field.words, text))
      Add(node, key,
          fmt::format("{} is not {}{}", text.empty() ? "\"\"" : text,
                      field.words.find('|') == std::string_view::npos ? "" : "one of ",
                      Listed(field.words)));
  }

  void Integer(const YAML::Node& node, const Field& field, const std::string& key) {
    const auto value = ReadInt(node);
    if (!value) return WrongType(node, key, "an integer");
    Range(node, field, key, *value);
  }

  void Range(const YAML::Node& node, const Field& field, const std::string& key, int64_t value) {
    if (value == 0 && field.zero == Zero::kUnset) return;
    if (value >= field.min && value <= field.max) return;
    if (field.max >= INT32_MAX && value < field.min) {
      Add(node, key, fmt::format("{} is below {}", value, field.min));
    } else {
      Add(node, key, fmt::format("{} is not in {}..{}", value, field.min, field.max));
    }
  }

  void DurationValue(const YAML::Node& node, const Field& field, const std::string& key) {
    if (!node.IsScalar()) return WrongType(node, key, "a duration such as 1m30s");
    const auto value = ParseGoDuration(node.Scalar());
    if (!value.ok()) return WrongType(node, key, "a duration such as 1m30s");
    const int64_t ns = value->count();
    if (ns == 0 && field.zero == Zero::kUnset) return;
    if (ns >= field.min && ns <= field.max) return;
    if (ns < 0) return Add(node, key, fmt::format("{} is negative", node.Scalar()));
    const double low = static_cast<double>(field.min) / 1e9,
                 high = static_cast<double>(field.max) / 1e9;
    Add(node, key,
        field.max == INT64_MAX ? fmt::format("{} is below {}s", node.Scalar(), low)
                               : fmt::format("{} is not in {}s..{}s", node.Scalar(), low, high));
  }

  Problems problems_;
};

}  // namespace

Problems CheckSchema(const YAML::Node& document) { return Checker().Run(document); }

}  // namespace splitlet::config
