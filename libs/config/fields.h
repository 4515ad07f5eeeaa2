#pragma once

/// Every field of KubeletConfiguration and of `splitlet`: type, range, permitted words, and whether
/// it does anything. A test holds docs/configuration.md to this table.
/// Threads: any.
/// Source: docs/behaviour/configuration.md.

#include <cstdint>
#include <span>
#include <string_view>

namespace splitlet::config {

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

/// Zero (0, 0s, "") means "not set", unless the field distinguishes them.
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
  /// Without effect: values that ask for what is done anyway, and a kubelet's default, which every
  /// file may spell out: "a|b|c". "<1" is every such number.
  std::string_view same = {};
  /// Without effect: when not empty, a value that is none of these is refused.
  std::string_view allowed = {};
};

/// In the order of docs/configuration.md.
std::span<const Field> Fields();
/// nullptr when there is no such row.
const Field* FindField(std::string_view path);
/// True for "authentication" when there is a row "authentication.x509...".
bool IsObjectPath(std::string_view path);

}  // namespace splitlet::config
