#pragma once

/// Documents of YAML laid over one another. For .cc files only: brings yaml-cpp.
/// Threads: any; pure.
/// Source: RFC 7386.

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <vector>

namespace splitlet::kubelet {

/// Maps are merged key by key, null takes a key away, all else replaces. Shares nothing with the
/// two.
YAML::Node MergePatch(const YAML::Node& target, const YAML::Node& patch);

/// Makes the maps on the way to "a.b.c".
void SetAt(YAML::Node document, std::string_view path, const YAML::Node& value);

/// A scalar that is a string whatever it looks like.
YAML::Node TextNode(const std::string& text);

/// Keys that stand twice in a map, as "a.b".
std::vector<std::string> DoubledKeys(const YAML::Node& document, const std::string& prefix = {});

/// With the field names of the configuration as it writes them, whatever their letters.
YAML::Node WithFieldNames(const YAML::Node& document, const std::string& prefix = {});

/// As JSON; strings stay strings.
std::string ToJson(const YAML::Node& document);

}  // namespace splitlet::kubelet
