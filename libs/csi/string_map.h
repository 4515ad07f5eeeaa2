#pragma once

/// A JSON object of strings, as Go's encoding/json writes and reads a map of strings: the form of
/// vol_data.json and of the Node's annotation with the ids of drivers.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT, the reason only.
/// Source: Go's encoding/json.

#include <map>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::csi {

using StringMap = std::map<std::string, std::string>;

/// On one line, keys in order; <, > and & are escaped.
std::string WriteStringMap(const StringMap& map);
/// At most 64 KiB. null is "" for a value and an empty map for the whole; the last of equal keys
/// wins. Strings are valid text.
StatusOr<StringMap> ParseStringMap(std::string_view json);

}  // namespace splitlet::csi
