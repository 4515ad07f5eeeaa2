#pragma once

/// The check of a document against the table of fields, key by key.
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
  std::string key;  // may be empty: of the document
  std::string reason;
  int line = 0;  // from 1; 0: none
  /// An unknown or doubled key of the kubelet's: one can do without it, as a kubelet does.
  bool only_strict = false;
};

/// Unknown and doubled keys, wrong types, values out of range.
std::vector<ConfigProblem> CheckSchema(const YAML::Node& document);

}  // namespace splitlet::config
