#pragma once

/// Checks a document against the table of fields, key by key.
/// Threads: any.
/// Errors: a list of problems, each with key and reason, in the order of the document.
/// Source: docs/behaviour/configuration.md; docs/safety.md, rule 29.

#include <string>
#include <vector>

namespace YAML {
class Node;
}

namespace splitlet::config {

struct ConfigProblem {
  std::string key;  // path of the key; empty: the whole document
  std::string reason;
  int line = 0;  // line, from 1; 0: unknown
  /// True for an unknown or duplicate key of the kubelet's, which lenient decoding ignores.
  bool only_strict = false;
};

/// Finds unknown and duplicate keys, wrong types, values out of range.
std::vector<ConfigProblem> CheckSchema(const YAML::Node& document);

}  // namespace splitlet::config
