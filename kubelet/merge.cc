#include "kubelet/merge.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "libs/config/fields.h"
#include "libs/config/reader.h"
#include "libs/kube/text_writer.h"

namespace splitlet::kubelet {
namespace {

bool SameLetters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// "maxPods" for "maxpods"; the name itself when no field has this name.
std::string FieldName(const std::string& prefix, const std::string& name) {
  for (const config::Field& field : config::Fields()) {
    if (!field.path.starts_with(prefix)) continue;
    std::string_view rest = field.path.substr(prefix.size());
    rest = rest.substr(0, rest.find_first_of(".["));
    if (SameLetters(rest, name)) return std::string(rest);
  }
  return name;
}

void Write(const YAML::Node& node, kube::JsonWriter& out) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      out.BeginMap();
      for (const auto& entry : node) {
        out.Key(entry.first.Scalar());
        Write(entry.second, out);
      }
      return out.EndMap();
    case YAML::NodeType::Sequence:
      out.BeginList();
      for (const YAML::Node& item : node) Write(item, out);
      return out.EndList();
    case YAML::NodeType::Scalar:
      if (config::IsString(node)) return out.String(node.Scalar());
      return out.Plain(node.Scalar());
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined: return out.Plain("null");
  }
}

}  // namespace

YAML::Node MergePatch(const YAML::Node& target, const YAML::Node& patch) {
  if (!patch.IsMap()) return YAML::Clone(patch);
  YAML::Node merged(YAML::NodeType::Map);
  if (target.IsMap())
    for (const auto& entry : target) {
      const std::string& key = entry.first.Scalar();
      const YAML::Node over = patch[key];
      if (!over.IsDefined()) merged[key] = YAML::Clone(entry.second);
      if (over.IsDefined() && !over.IsNull()) merged[key] = MergePatch(entry.second, over);
    }
  for (const auto& entry : patch) {
    const std::string& key = entry.first.Scalar();
    const bool merged_already = target.IsMap() && target[key].IsDefined();
    if (!merged_already && !entry.second.IsNull())
      merged[key] = MergePatch(YAML::Node(YAML::NodeType::Map), entry.second);
  }
  return merged;
}

void SetAt(YAML::Node document, std::string_view path, const YAML::Node& value) {
  const auto dot = path.find('.');
  const std::string key(path.substr(0, dot));
  if (dot == std::string_view::npos) {
    document[key] = value;
    return;
  }
  if (!std::as_const(document)[key].IsDefined() || !document[key].IsMap())
    document[key] = YAML::Node(YAML::NodeType::Map);
  SetAt(document[key], path.substr(dot + 1), value);
}

YAML::Node TextNode(const std::string& text) {
  YAML::Node node(text);
  node.SetTag("!");
  return node;
}

std::vector<std::string> DoubledKeys(const YAML::Node& document, const std::string& prefix) {
  std::vector<std::string> doubled;
  const auto descend = [&doubled](const YAML::Node& node, const std::string& path) {
    for (std::string& one : DoubledKeys(node, path)) doubled.push_back(std::move(one));
  };
  std::set<std::string> seen;
  if (document.IsMap())
    for (const auto& entry : document) {
      const std::string key = prefix + entry.first.Scalar();
      if (!seen.insert(key).second) doubled.push_back(key);
      descend(entry.second, key + ".");
    }
  if (document.IsSequence())
    for (const YAML::Node& item : document) descend(item, prefix);
  return doubled;
}

YAML::Node WithFieldNames(const YAML::Node& document, const std::string& prefix) {
  if (!document.IsMap()) return YAML::Clone(document);
  YAML::Node named(YAML::NodeType::Map);
  for (const auto& entry : document) {
    const std::string key = FieldName(prefix, entry.first.Scalar());
    const bool inside = config::IsObjectPath(prefix + key);
    named[key] =
        inside ? WithFieldNames(entry.second, prefix + key + ".") : YAML::Clone(entry.second);
  }
  return named;
}

std::string ToJson(const YAML::Node& document) {
  kube::JsonWriter writer(2);
  Write(document, writer);
  return writer.Take();
}

}  // namespace splitlet::kubelet
