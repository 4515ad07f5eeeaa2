#pragma once

/// Typed access to a YAML document, by Kubernetes' rules. For .cc files only: includes yaml-cpp.
/// Threads: any.
/// Errors: no value if the node is absent or of another type.

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::config {

bool IsQuoted(const YAML::Node& node);
/// True for a scalar that YAML reads as a string: quoted, or no number, boolean or null.
bool IsString(const YAML::Node& node);
std::optional<bool> ReadBool(const YAML::Node& node);
std::optional<int64_t> ReadInt(const YAML::Node& node);
std::optional<double> ReadFloat(const YAML::Node& node);

/// "a.b.c" in `document`; an undefined node if it is absent or null.
YAML::Node At(const YAML::Node& document, std::string_view path);

/// Reads a checked document by path. An absent key, and a zero that means "not set", give no value.
class ConfigReader {
 public:
  explicit ConfigReader(const YAML::Node& document) : document_(document) {}
  bool Has(std::string_view path) const { return At(document_, path).IsDefined(); }
  std::optional<bool> Bool(std::string_view path) const;
  std::optional<int64_t> Int(std::string_view path) const;
  std::optional<double> Float(std::string_view path) const;
  std::optional<std::string> String(std::string_view path) const;
  std::optional<Duration> Time(std::string_view path) const;
  std::vector<std::string> Strings(std::string_view path) const;
  /// Scalars of a map, in the order of the document.
  std::vector<std::pair<std::string, std::string>> Map(std::string_view path) const;
  YAML::Node Node(std::string_view path) const { return At(document_, path); }

 private:
  const YAML::Node& document_;
};

}  // namespace splitlet::config
