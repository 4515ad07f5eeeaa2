#pragma once

/// Converts times, durations and bytes to and from their form in the API's JSON.
/// Units: seconds and nanoseconds since the epoch.
/// Errors: INVALID_ARGUMENT, the reason only.
/// Source: RFC 3339; RFC 4648; Go's duration notation ("1h2m0.5s").

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::kube {

struct TimeParts {
  int64_t seconds = 0;
  int32_t nanos = 0;
};

/// "2026-01-02T03:04:05Z", with any fraction and zone offset; years 0000 to 9999.
StatusOr<TimeParts> ParseTime(std::string_view text);
/// In UTC with `digits` of fraction: 0 or 6. Times outside of the years 0000 to 9999 are clamped.
std::string FormatTime(TimeParts time, int digits);

/// Parses "300ms", "-1.5h", "2h45m", "0" to nanoseconds.
StatusOr<int64_t> ParseDuration(std::string_view text);
/// Formats "1m30s", "1.5s", "100ms", "0s".
std::string FormatDuration(int64_t nanoseconds);

/// Uses the standard alphabet with padding; skips line breaks.
StatusOr<std::string> DecodeBase64(std::string_view text);
std::string EncodeBase64(std::string_view bytes);

}  // namespace splitlet::kube
