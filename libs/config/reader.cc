#include "libs/config/reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "libs/config/fields.h"
#include "libs/config/scalars.h"

namespace splitlet::config {
namespace {

constexpr auto kTrue = std::to_array<std::string_view>(
    {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"});
constexpr auto kFalse = std::to_array<std::string_view>(
    {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"});

bool ZeroIsUnset(std::string_view path) {
  const Field* field = FindField(path);
  return field != nullptr && field->zero == Zero::kUnset;
}

}  // namespace

bool IsQuoted(const YAML::Node& node) { return node.IsScalar() && node.Tag() == "!"; }

bool IsString(const YAML::Node& node) {
  if (!node.IsScalar()) return false;
  return IsQuoted(node) || (!ReadBool(node) && !ReadInt(node) && !ReadFloat(node));
}

std::optional<bool> ReadBool(const YAML::Node& node) {
  if (!node.IsScalar() || IsQuoted(node)) return std::nullopt;
  if (std::ranges::find(kTrue, node.Scalar()) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, node.Scalar()) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<int64_t> ReadInt(const YAML::Node& node) {
  if (!node.IsScalar() || IsQuoted(node)) return std::nullopt;
  std::string_view text = node.Scalar();
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> ReadFloat(const YAML::Node& node) {
  if (!node.IsScalar() || IsQuoted(node)) return std::nullopt;
  const std::string_view text = node.Scalar();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool digits =
      text.find_first_of("0123456789") != std::string_view::npos;  // not "inf", not "nan"
  if (error != std::errc{} || end != text.data() + text.size() || !digits) return std::nullopt;
  return value;
}

YAML::Node At(const YAML::Node& document, std::string_view path) {
  YAML::Node node = document;
  while (!path.empty()) {
    const auto dot = path.find('.');
    if (!node.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
    const YAML::Node child = std::as_const(node)[std::string(path.substr(0, dot))];
    if (!child.IsDefined() || child.IsNull()) return YAML::Node(YAML::NodeType::Undefined);
    node.reset(child);  // "=" would write into the document
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return node;
}

std::optional<bool> ConfigReader::Bool(std::string_view path) const {
  return ReadBool(At(document_, path));
}

std::optional<int64_t> ConfigReader::Int(std::string_view path) const {
  const auto value = ReadInt(At(document_, path));
  return value == 0 && ZeroIsUnset(path) ? std::nullopt : value;
}

std::optional<double> ConfigReader::Float(std::string_view path) const {
  return ReadFloat(At(document_, path));
}

std::optional<std::string> ConfigReader::String(std::string_view path) const {
  const YAML::Node node = At(document_, path);
  if (!node.IsDefined() || !node.IsScalar()) return std::nullopt;
  if (node.Scalar().empty() && ZeroIsUnset(path)) return std::nullopt;
  return node.Scalar();
}

std::optional<Duration> ConfigReader::Time(std::string_view path) const {
  const auto text = String(path);
  if (!text) return std::nullopt;
  const auto value = ParseGoDuration(*text);
  if (!value.ok() || (*value == Duration{0} && ZeroIsUnset(path))) return std::nullopt;
  return *value;
}

std::vector<std::string> ConfigReader::Strings(std::string_view path) const {
  std::vector<std::string> values;
  const YAML::Node node = At(document_, path);
  if (node.IsDefined())
    for (const YAML::Node& item : node) values.push_back(item.Scalar());
  return values;
}

std::vector<std::pair<std::string, std::string>> ConfigReader::Map(std::string_view path) const {
  std::vector<std::pair<std::string, std::string>> entries;
  const YAML::Node node = At(document_, path);
  if (node.IsDefined())
    for (const auto& entry : node)
      entries.emplace_back(entry.first.Scalar(), entry.second.Scalar());
  return entries;
}

}  // namespace splitlet::config
