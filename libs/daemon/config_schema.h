#pragma once

/// Every field of KubeletConfiguration and of the key `splitlet`: its type, its range, its
/// permitted words; and the check of a document against them. Threads: any. Errors: a list of
/// problems, each with key and reason, in the order of the document. Source: configuration spec,
/// field tables 3.1 to 3.5.

#include <cstdint>
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

struct Field {
  std::string_view path;  // "authentication.x509.clientCAFile", "registerWithTaints[].key"
  FieldKind kind;
  Zero zero = Zero::kUnset;
  std::string_view words = {};  // strings and lists of strings, keys of maps: "a|b|c"; empty: any
  int64_t min = INT64_MIN;      // integers; durations in ns
  int64_t max = INT64_MAX;
};

struct ConfigProblem {
  std::string key;  // may be empty: of the document
  std::string reason;
  int line = 0;  // from 1; 0: none
};

/// nullptr when there is no such row.
const Field* FindField(std::string_view path);
/// True for "authentication" when there is a row "authentication.x509...".
bool IsObjectPath(std::string_view path);

/// Unknown and doubled keys, wrong types, values out of range.
std::vector<ConfigProblem> CheckSchema(const YAML::Node& document);

/// What no single field shows: values that exclude or need each other. Only for a document without
/// schema problems.
std::vector<ConfigProblem> CheckRules(const YAML::Node& document);

}  // namespace splitlet::daemon
