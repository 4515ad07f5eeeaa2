#include "libs/config/unmet.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "libs/config/fields.h"
#include "libs/config/reader.h"
#include "libs/config/scalars.h"

namespace splitlet::config {
namespace {

/// "a|b|c"; the word "<1" stands for every number below one.
bool Among(std::string_view words, const YAML::Node& value) {
  const auto number = ReadInt(value);
  const auto truth = ReadBool(value);
  const std::string text = number  ? fmt::format("{}", *number)
                           : truth ? (*truth ? "true" : "false")
                                   : value.Scalar();
  while (!words.empty()) {
    const size_t end = words.find('|');
    const std::string_view word = words.substr(0, end);
    if (word == text || (word == "<1" && number && *number < 1)) return true;
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return false;
}

/// A zero of most fields means that they are not set, and so does an empty list or map.
bool IsSet(const Field& field, const YAML::Node& value) {
  if (!value.IsDefined() || value.IsNull()) return false;
  if (!value.IsScalar()) return value.size() > 0;
  if (field.zero == Zero::kCounts) return true;
  if (value.Scalar().empty() || ReadInt(value) == 0) return false;
  const bool duration =
      field.kind == FieldKind::kDuration || field.kind == FieldKind::kDurationOrNanos;
  return !duration || ParseGoDuration(value.Scalar()).value_or(Duration{1}) != Duration{0};
}

/// True for "a: x" and "a: [x, y]" when x and y are among `words`.
bool AllAmong(std::string_view words, const YAML::Node& value) {
  if (value.IsScalar()) return Among(words, value);
  return value.IsSequence() && std::ranges::all_of(value, [words](const YAML::Node& item) {
           return item.IsScalar() && Among(words, item);
         });
}

std::string ValuesOf(const YAML::Node& value) {
  if (value.IsScalar()) return value.Scalar();
  std::string text;
  for (const YAML::Node& item : value)
    text += (text.empty() ? "" : ", ") + (item.IsScalar() ? item.Scalar() : std::string("..."));
  return "[" + text + "]";
}

/// `prefix`: "" or "authentication." or "registerWithTaints[].".
YAML::Node Cleaned(const YAML::Node& object, const std::string& prefix);

/// Of a field: a map has each of its keys once, and so do the objects of a list.
YAML::Node CleanedValue(const YAML::Node& value, const Field& field) {
  YAML::Node clean(value.Type());
  if (value.IsMap()) {
    for (const auto& entry : value) clean[entry.first.Scalar()] = entry.second;
    return clean;
  }
  if (field.kind != FieldKind::kObjects || !value.IsSequence()) return value;
  for (const YAML::Node& item : value)
    clean.push_back(Cleaned(item, std::string(field.path) + "[]."));
  return clean;
}

YAML::Node Cleaned(const YAML::Node& object, const std::string& prefix) {
  YAML::Node clean(YAML::NodeType::Map);
  if (!object.IsMap()) return object;
  for (const auto& entry : object) {
    if (!entry.first.IsScalar()) continue;
    const std::string& name = entry.first.Scalar();
    if (const Field* field = FindField(prefix + name); field != nullptr) {
      clean[name] = CleanedValue(entry.second, *field);
    } else if (IsObjectPath(prefix + name)) {
      clean[name] = Cleaned(entry.second, prefix + name + ".");
    }
  }
  return clean;
}

}  // namespace

Unmet FindUnmet(const YAML::Node& document) {
  Unmet unmet;
  for (const Field& field : Fields()) {
    if (field.effect == Effect::kWorks) continue;
    const std::string path(field.path);
    const YAML::Node value = At(document, path);
    if (!IsSet(field, value) || AllAmong(field.same, value)) continue;
    if (field.allowed.empty() || AllAmong(field.allowed, value)) {
      unmet.ignored.push_back(path);
    } else {
      unmet.refused.push_back({path,
                               fmt::format("{} asks for more than this version can give: {}",
                                           ValuesOf(value), field.note),
                               value.Mark().is_null() ? 0 : value.Mark().line + 1});
    }
  }
  return unmet;
}

YAML::Node WithoutExtras(const YAML::Node& document) { return Cleaned(document, ""); }

}  // namespace splitlet::config
