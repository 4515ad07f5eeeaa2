#pragma once

/// Scalars of a KubeletConfiguration: Go durations, quantities, percentages. Any thread.
/// Errors: INVALID_ARGUMENT with the reason only.
/// Source: docs/behaviour/configuration.md, "Reading the file".

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::config {

/// "1m30s", "100ms", "-1s", "0"; a bare number other than 0 is an error.
StatusOr<Duration> ParseGoDuration(std::string_view text);

/// "10Mi", "0.5", "1e3", "200m": thousandths, rounded away from zero. An amount that does not fit
/// becomes the largest value, so that comparisons stay correct.
StatusOr<int64_t> ParseQuantityMillis(std::string_view text);

/// A quantity in whole units, rounded up.
StatusOr<int64_t> ParseQuantity(std::string_view text);

/// "15%", "7.5%": 0 to 100.
StatusOr<double> ParsePercent(std::string_view text);

/// A DNS-1123 subdomain, as node names are: at most 253 of [a-z0-9.-], labels that begin and end
/// alphanumeric.
Status CheckNodeName(std::string_view name);

}  // namespace splitlet::config
