#include "kubelet/flag_values.h"

#include <string_view>
#include <utility>

#include "kubelet/merge.h"
#include "libs/base/one_line.h"

namespace splitlet::kubelet {
namespace {

std::string Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text);
}

/// Without empty parts.
std::vector<std::string> Parts(const std::vector<std::string>& values, char mark) {
  std::vector<std::string> parts;
  for (std::string_view rest : values) {
    while (!rest.empty()) {
      const size_t end = rest.find(mark);
      if (std::string part = Trimmed(rest.substr(0, end)); !part.empty())
        parts.push_back(std::move(part));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  return parts;
}

struct KeyAndValue {
  std::string key, value;
};
StatusOr<KeyAndValue> Cut(const FlagRow& row, const std::string& part, char mark) {
  const size_t at = part.find(mark);
  if (at == std::string::npos || at == 0)
    return InvalidArgument("--{}: want KEY{}VALUE, not \"{}\"", row.name, mark, OneLine(part));
  return KeyAndValue{Trimmed(std::string_view(part).substr(0, at)),
                     Trimmed(std::string_view(part).substr(at + 1))};
}

StatusOr<YAML::Node> MapOf(const FlagRow& row, const std::vector<std::string>& parts, char mark) {
  YAML::Node map(YAML::NodeType::Map);
  for (const std::string& part : parts) {
    const auto pair = Cut(row, part, mark);
    if (!pair.ok()) return pair.status();
    const bool truth = row.value == FlagValue::kBoolMap;
    if (truth && pair->value != "true" && pair->value != "false")
      return InvalidArgument("--{}: {}: want true or false", row.name, OneLine(pair->key));
    map[pair->key] = truth ? YAML::Node(pair->value == "true") : TextNode(pair->value);
  }
  return map;
}

StatusOr<YAML::Node> Headers(const FlagRow& row, const std::vector<std::string>& parts) {
  YAML::Node map(YAML::NodeType::Map);
  for (const std::string& part : parts) {
    const auto pair = Cut(row, part, ':');
    if (!pair.ok()) return pair.status();
    map[pair->key].push_back(TextNode(pair->value));
  }
  return map;
}

StatusOr<YAML::Node> Taints(const FlagRow& row, const std::vector<std::string>& parts) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const std::string& part : parts) {
    const auto sides = Cut(row, part, ':');
    if (!sides.ok()) return sides.status();
    const size_t equals = sides->key.find('=');
    YAML::Node taint(YAML::NodeType::Map);
    taint["key"] = TextNode(sides->key.substr(0, equals));
    if (equals != std::string::npos) taint["value"] = TextNode(sides->key.substr(equals + 1));
    taint["effect"] = TextNode(sides->value);
    list.push_back(taint);
  }
  return list;
}

/// "0:memory=1Gi,hugepages-2Mi=64Mi;1:memory=2Gi".
StatusOr<YAML::Node> Memory(const FlagRow& row, const std::vector<std::string>& values) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const std::string& part : Parts(values, ';')) {
    const auto sides = Cut(row, part, ':');
    if (!sides.ok()) return sides.status();
    if (sides->key.find_first_not_of("0123456789") != std::string::npos)
      return InvalidArgument("--{}: want the number of a NUMA node, not \"{}\"", row.name,
                             OneLine(sides->key));
    const auto limits = MapOf(row, Parts({sides->value}, ','), '=');
    if (!limits.ok()) return limits.status();
    YAML::Node one(YAML::NodeType::Map);
    one["numaNode"] = YAML::Node(sides->key);
    one["limits"] = *limits;
    list.push_back(one);
  }
  return list;
}

StatusOr<YAML::Node> Patterns(const FlagRow& row, const std::vector<std::string>& parts) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const std::string& part : parts) {
    const auto pair = Cut(row, part, '=');
    if (!pair.ok()) return pair.status();
    if (pair->value.empty() || pair->value.find_first_not_of("0123456789") != std::string::npos)
      return InvalidArgument("--{}: want a level, a whole number, not \"{}\"", row.name,
                             OneLine(pair->value));
    YAML::Node one(YAML::NodeType::Map);
    one["filePattern"] = TextNode(pair->key);
    one["verbosity"] = YAML::Node(pair->value);
    list.push_back(one);
  }
  return list;
}

}  // namespace

StatusOr<YAML::Node> FieldValue(const FlagRow& row, const std::vector<std::string>& values) {
  CHECK(!values.empty());
  switch (row.value) {
    case FlagValue::kBool:
    case FlagValue::kInt:
    case FlagValue::kFloat: return YAML::Node(values.back());
    case FlagValue::kPath:
    case FlagValue::kText: return TextNode(values.back());
    case FlagValue::kList: {
      YAML::Node list(YAML::NodeType::Sequence);
      for (const std::string& part : Parts(values, ',')) list.push_back(TextNode(part));
      return list;
    }
    case FlagValue::kMap:
    case FlagValue::kBoolMap: return MapOf(row, Parts(values, ','), '=');
    case FlagValue::kThresholds: return MapOf(row, Parts(values, ','), '<');
    case FlagValue::kHeaders: return Headers(row, Parts(values, ','));
    case FlagValue::kTaints: return Taints(row, Parts(values, ','));
    case FlagValue::kMemory: return Memory(row, values);
    case FlagValue::kPatterns: return Patterns(row, Parts(values, ','));
  }
  UNREACHABLE();
}

}  // namespace splitlet::kubelet
