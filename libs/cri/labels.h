#pragma once

/// Reads the labels and annotations of sandboxes and containers.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  CRI v1.

#include <string>
#include <string_view>

#include "libs/cri/cri.h"

namespace splitlet::cri {

/// The value of a label or annotation; empty: it is missing.
inline std::string LabelOf(const StringMap& labels, std::string_view key) {
  const auto found = labels.find(std::string(key));
  return found == labels.end() ? std::string() : found->second;
}

}  // namespace splitlet::cri
