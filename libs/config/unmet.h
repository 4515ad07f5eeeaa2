#pragma once

/// Fields without effect, and unknown keys.
/// Threads: any.

#include <string>
#include <vector>

#include "libs/config/schema.h"

namespace splitlet::config {

/// Settings of the document without effect, in the order of Fields(). Only for a document without
/// problems of schema and rules.
struct Unmet {
  std::vector<ConfigProblem> refused;  // fields that request more protection than a node has by
                                       // default
  std::vector<std::string> ignored;    // paths of fields that are set without effect
};
Unmet FindUnmet(const YAML::Node& document);

/// The document after lenient decoding: without unknown keys, and with the last of duplicate keys.
YAML::Node WithoutExtras(const YAML::Node& document);

}  // namespace splitlet::config
