#pragma once

/// Every field of KubeletConfiguration and of `splitlet`: type, range, permitted words, and effect.
/// A test compares docs/configuration.md with this table.
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
  kDurationOrNanos,  // only for logging.flushFrequency
  kQuantity,
  kStrings,
  kInts,
  kObjects,  // a list of objects, whose fields have rows of their own
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

/// Whether a field has an effect when a file sets it.
enum class Effect { kWorks, kNotYet, kNever };

struct Field {
  std::string_view path;  // "authentication.x509.clientCAFile", "registerWithTaints[].key"
  FieldKind kind;
  Zero zero = Zero::kUnset;
  std::string_view words = {};  // permitted strings, items of lists or keys of maps: "a|b|c";
                                // empty: any
  int64_t min = INT64_MIN;      // for integers, and durations in ns
  int64_t max = INT64_MAX;
  Effect effect = Effect::kWorks;
  std::string_view note = {};  // a remark for kWorks; else the reason
  /// For fields without effect: values that ask for the actual behaviour, and a kubelet's default,
  /// which every file may contain: "a|b|c". "<1" means every number below one.
  std::string_view same = {};
  /// For fields without effect: if not empty, other values are refused.
  std::string_view allowed = {};
};

/// In the order of docs/configuration.md.
std::span<const Field> Fields();
/// nullptr if there is no such row.
const Field* FindField(std::string_view path);
/// True for "authentication" if there is a row "authentication.x509...".
bool IsObjectPath(std::string_view path);

}  // namespace splitlet::config
