#include "chaos/scenario/fields.h"

#include <fmt/format.h>

#include <charconv>

#include "libs/config/scalars.h"

namespace splitlet::chaos {
namespace {

constexpr Duration kLongest = 24h;
constexpr Duration kLongestJump = 10 * 8760h;

StatusOr<Duration> ParseTime(const std::string& text) {
  const auto time = config::ParseGoDuration(text);
  if (!time.ok()) return time.status();
  if (*time < Duration{0}) return InvalidArgument("{} is below 0", text);
  if (*time > kLongest) return InvalidArgument("{} is more than 24h", text);
  return *time;
}

}  // namespace

void Problem::Set(const std::string& path, const std::string& reason, int line) {
  if (!status_.ok()) return;
  const std::string where = line < 0 ? "" : fmt::format(" (line {})", line + 1);
  status_ = InvalidArgument("{}: {}{}{}{}", file_, path, path.empty() ? "" : ": ", reason, where);
}

Fields::Fields(const YAML::Node& node, std::string path, Problem& problem)
    : node_(node), path_(std::move(path)), problem_(problem), line_(node.Mark().line) {
  if (!node_.IsMap()) {
    problem_.Set(path_, "expected a map of fields", line_);
    return;
  }
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar())
      problem_.Set(path_, "a field's name must be a word", entry.first.Mark().line);
    else if (!seen.insert(entry.first.Scalar()).second)
      problem_.Set(PathOf(entry.first.Scalar()), "is given twice", entry.first.Mark().line);
  }
}

std::string Fields::PathOf(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

YAML::Node Fields::Find(const std::string& key) {
  known_.insert(key);
  if (problem_.ok() && node_.IsMap())
    for (const auto& entry : node_)
      if (entry.first.IsScalar() && entry.first.Scalar() == key) return entry.second;
  return YAML::Node(YAML::NodeType::Undefined);
}

bool Fields::Has(const std::string& key) const {
  if (problem_.ok() && node_.IsMap())
    for (const auto& entry : node_)
      if (entry.first.IsScalar() && entry.first.Scalar() == key) return true;
  return false;
}

void Fields::Wrong(const std::string& key, const std::string& reason) {
  int line = line_;
  if (node_.IsMap())
    for (const auto& entry : node_)
      if (entry.first.IsScalar() && entry.first.Scalar() == key) line = entry.first.Mark().line;
  problem_.Set(PathOf(key), reason, line);
}

bool Fields::Scalar(const std::string& key, std::string& text) {
  const YAML::Node node = Find(key);
  if (!node.IsDefined()) return false;
  if (!node.IsScalar()) {
    Wrong(key, "expected one value");
    return false;
  }
  text = node.Scalar();
  return true;
}

void Fields::Read(const std::string& key, std::string& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  if (text.empty()) return Wrong(key, "is empty");
  value = text;
}

void Fields::Read(const std::string& key, bool& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  if (text != "true" && text != "false") return Wrong(key, "want true or false, found " + text);
  value = text == "true";
}

void Fields::Read(const std::string& key, Duration& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  const auto time = ParseTime(text);
  if (!time.ok()) return Wrong(key, Message(time.status()));
  value = *time;
}

void Fields::Read(const std::string& key, Range& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  const auto dots = text.find("..");
  const auto low = ParseTime(text.substr(0, dots));
  const auto high = dots == std::string::npos ? low : ParseTime(text.substr(dots + 2));
  if (!low.ok()) return Wrong(key, Message(low.status()));
  if (!high.ok()) return Wrong(key, Message(high.status()));
  if (*high < *low) return Wrong(key, text + " ends before it begins");
  value = {*low, *high};
}

void Fields::Read(const std::string& key, std::vector<std::string>& value) {
  const YAML::Node node = Find(key);
  if (!node.IsDefined()) return;
  if (node.IsScalar() && !node.Scalar().empty()) {
    value = {node.Scalar()};
    return;
  }
  if (!node.IsSequence() || node.size() == 0)
    return Wrong(key, "expected a word or a list of words");
  value.clear();
  for (const auto& item : node) {
    if (!item.IsScalar() || item.Scalar().empty()) return Wrong(key, "expected words");
    value.push_back(item.Scalar());
  }
}

void Fields::ReadNumber(const std::string& key, int64_t low, int64_t high, int64_t& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    return Wrong(key, "expected a whole number, found " + text);
  if (number < low || number > high)
    return Wrong(key, fmt::format("{} is not in {}..{}", number, low, high));
  value = number;
}

void Fields::ReadJump(const std::string& key, Duration& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  const auto time = config::ParseGoDuration(text);
  if (!time.ok()) return Wrong(key, Message(time.status()));
  if (*time > -1ms && *time < 1ms) return Wrong(key, text + " does not move the clock");
  if (*time < -kLongestJump || *time > kLongestJump)
    return Wrong(key, fmt::format("{} is more than {}h", text, kLongestJump / 1h));
  value = *time;
}

void Fields::ReadPercent(const std::string& key, double& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  const auto percent = config::ParsePercent(text);
  if (!percent.ok()) return Wrong(key, Message(percent.status()));
  value = *percent;
}

void Fields::ReadBytes(const std::string& key, uint64_t& value) {
  std::string text;
  if (!Scalar(key, text)) return;
  const auto bytes = config::ParseQuantity(text);
  if (!bytes.ok()) return Wrong(key, Message(bytes.status()));
  if (*bytes <= 0) return Wrong(key, text + " is not above 0");
  value = static_cast<uint64_t>(*bytes);
}

YAML::Node Fields::Child(const std::string& key) { return Find(key); }

std::vector<YAML::Node> Fields::List(const std::string& key) {
  const YAML::Node node = Find(key);
  std::vector<YAML::Node> items;
  if (!node.IsDefined()) return items;
  if (!node.IsSequence()) {
    Wrong(key, "expected a list");
    return items;
  }
  for (const auto& item : node) items.push_back(item);
  return items;
}

void Fields::Finish() {
  if (!problem_.ok() || !node_.IsMap()) return;
  for (const auto& entry : node_) {
    if (known_.contains(entry.first.Scalar())) continue;
    std::string names;
    for (const auto& name : known_) names += (names.empty() ? "" : ", ") + name;
    problem_.Set(PathOf(entry.first.Scalar()), "unknown field; want one of " + names,
                 entry.first.Mark().line);
    return;
  }
}

}  // namespace splitlet::chaos
