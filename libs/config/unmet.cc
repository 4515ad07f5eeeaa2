#include "libs/config/unmet.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <string>

#include "libs/config/fields.h"
#include "libs/config/reader.h"
#include "libs/config/scalars.h"

namespace splitlet::config {
namespace {

/// Set if the text is a duration, so that "10s" equals "10000ms".
std::optional<Duration> DurationOf(const std::string& text) {
  const auto duration = ParseGoDuration(text);
  return duration.ok() ? std::optional(*duration) : std::nullopt;
}

/// "a|b|c"; "<1" stands for every number below one.
bool Among(std::string_view words, const YAML::Node& value) {
  const auto number = ReadInt(value);
  const auto truth = ReadBool(value);
  const std::string text = number  ? fmt::format("{}", *number)
                           : truth ? (*truth ? "true" : "false")
                                   : value.Scalar();
  const auto duration = DurationOf(text);
  while (!words.empty()) {
    const size_t end = words.find('|');
    const std::string_view word = words.substr(0, end);
    if (word == text || (word == "<1" && number && *number < 1)) return true;
    if (duration && DurationOf(std::string(word)) == duration) return true;
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return false;
}

/// True for "", 0, 0s and false: such a value does not set the field.
bool IsZero(const YAML::Node& scalar) {
  const std::string& text = scalar.Scalar();
  if (text.empty() || ReadInt(scalar) == 0 || ReadBool(scalar) == false) return true;
  return DurationOf(text) == Duration{0} || ParseQuantityMillis(text).value_or(1) == 0;
}

/// A list or map that contains only zeros sets nothing, at any depth.
bool HasContent(const YAML::Node& value) {
  if (!value.IsDefined() || value.IsNull()) return false;
  if (value.IsScalar()) return !IsZero(value);
  if (value.IsMap())
    return std::any_of(value.begin(), value.end(),
                       [](const auto& entry) { return HasContent(entry.second); });
  return std::any_of(value.begin(), value.end(), [](const auto& item) { return HasContent(item); });
}

/// A zero means "not set" for most fields.
bool IsSet(const Field& field, const YAML::Node& value) {
  const bool counts = field.zero == Zero::kCounts && value.IsScalar();
  return counts ? !value.IsNull() : HasContent(value);
}

/// True for "a: x" and "a: [x, y]" if x and y are among `words`.
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

/// True for settings that change nothing: images are looked up in the container runtime anyway.
bool NamesTheRuntime(const Field& field, const YAML::Node& value, const YAML::Node& document) {
  if (field.path != "imageServiceEndpoint") return false;
  const YAML::Node runtime = At(document, "containerRuntimeEndpoint");
  return runtime.IsDefined() && runtime.IsScalar() && runtime.Scalar() == value.Scalar();
}

/// `prefix`: "" or "authentication." or "registerWithTaints[].".
YAML::Node Cleaned(const YAML::Node& object, const std::string& prefix);

/// Removes duplicate keys of a map, including objects in a list.
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
    if (NamesTheRuntime(field, value, document)) continue;
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
