#pragma once

/// Merges YAML documents. For .cc files only: brings yaml-cpp.
/// Threads: any; pure.
/// Source: RFC 7386.

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <vector>

namespace splitlet::kubelet {

/// Merges maps key by key; null removes a key; any other value replaces. The result shares nothing
/// with its inputs.
YAML::Node MergePatch(const YAML::Node& target, const YAML::Node& patch);

/// Makes the maps on the way to "a.b.c".
void SetAt(YAML::Node document, std::string_view path, const YAML::Node& value);

/// A scalar that stays a string even if it looks like a number or boolean.
YAML::Node TextNode(const std::string& text);

/// Duplicate keys of a map, as "a.b".
std::vector<std::string> DoubledKeys(const YAML::Node& document, const std::string& prefix = {});

/// Replaces field names in any case by the spelling of the configuration.
YAML::Node WithFieldNames(const YAML::Node& document, const std::string& prefix = {});

/// Converts to JSON; strings stay strings.
std::string ToJson(const YAML::Node& document);

}  // namespace splitlet::kubelet
