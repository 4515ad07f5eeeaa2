#pragma once

/// Every field of KubeletConfiguration and of `splitlet`: type, range, permitted words, and whether
/// it does anything; and the check of a document. A test holds docs/configuration.md to this table.
/// Threads: any.
/// Errors: a list of problems, each with key and reason, in the order of the document.
/// Source: docs/behaviour/configuration.md; docs/safety.md, rule 29.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace YAML {
class Node;
}

namespace splitlet::daemon {

enum class FieldKind {
  kBool,
  kInt,
  kFloat,
  kString,
  kDuration,
  kDurationOrNanos,  // logging.flushFrequency
  kQuantity,
  kStrings,
  kInts,
  kObjects,  // list of objects; their fields have rows of their own
  kFree,     // any content
  kStringMap,
  kHeaders,  // name -> list of strings
  kBoolMap,
  kUserMap,  // process -> user id or name
  kQuantityMap,
  kThresholds,  // eviction signal -> quantity or percentage
  kDurationMap,
  kPercentMap,
};

/// Zero (0, 0s, "") means "not set" unless the field tells them apart.
enum class Zero { kUnset, kCounts };

/// Is a field that a file sets carried out?
enum class Effect { kWorks, kNotYet, kNever };

struct Field {
  std::string_view path;  // "authentication.x509.clientCAFile", "registerWithTaints[].key"
  FieldKind kind;
  Zero zero = Zero::kUnset;
  std::string_view words = {};  // strings and lists of strings, keys of maps: "a|b|c"; empty: any
  int64_t min = INT64_MIN;      // integers; durations in ns
  int64_t max = INT64_MAX;
  Effect effect = Effect::kWorks;
  std::string_view note = {};  // kWorks: what to know of it; else why not
  /// Without effect: values that ask for what is done anyway, "a|b|c". "<1" is every such number.
  std::string_view same = {};
  /// Without effect: when not empty, a value that is none of these is refused.
  std::string_view allowed = {};
};

struct ConfigProblem {
  std::string key;  // may be empty: of the document
  std::string reason;
  int line = 0;  // from 1; 0: none
  /// An unknown or doubled key of the kubelet's: one can do without it, as a kubelet does.
  bool only_strict = false;
};

/// In the order of docs/configuration.md.
std::span<const Field> Fields();
/// nullptr when there is no such row.
const Field* FindField(std::string_view path);
/// True for "authentication" when there is a row "authentication.x509...".
bool IsObjectPath(std::string_view path);

/// Unknown and doubled keys, wrong types, values out of range.
std::vector<ConfigProblem> CheckSchema(const YAML::Node& document);

/// What no single field shows: values that exclude or need each other. Only for a document without
/// schema problems.
std::vector<ConfigProblem> CheckRules(const YAML::Node& document);

/// What the document asks for and does not get, in the order of Fields(). Only for a document
/// without problems of schema and rules.
struct Unmet {
  std::vector<ConfigProblem> refused;  // more protection than a node has by default
  std::vector<std::string> ignored;    // paths of fields that are set without effect
};
Unmet FindUnmet(const YAML::Node& document);

/// The document as a lenient reader takes it: without unknown keys, and of a doubled key the last.
YAML::Node WithoutExtras(const YAML::Node& document);

}  // namespace splitlet::daemon
