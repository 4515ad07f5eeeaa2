#pragma once

/// Which node conditions follow from the thresholds that are met.
/// Threads: pure.
/// Errors: none.
/// Source: docs/behaviour/garbage-collection.md, "Pressure".

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "services/gc/config.h"
#include "services/gc/measure/signals.h"

namespace splitlet::gc {

/// "DiskPressure" for "nodefs.available"; empty for an unknown signal.
std::string ConditionOf(const std::string& signal);

/// Signals that have a threshold and could not be read.
std::vector<std::string> UnreadThresholds(const Signals& signals, const GcConfig& config);

/// When the thresholds of each condition were last met. A condition stays for the transition
/// period. A signal that cannot be read does not end its condition.
using LastMet = std::map<std::string, Clock::Time>;
void Remember(LastMet& last_met, const std::vector<std::string>& met, Clock::Time now,
              Duration transition);
std::vector<std::string> Conditions(const LastMet& last_met, Clock::Time now, Duration transition);
/// Extends each standing condition with a signal that cannot be read, as if it were met.
void KeepStanding(LastMet& last_met, const std::vector<std::string>& unread, Clock::Time now);

/// Saved for this boot as lines "<condition> <monotonic ns>".
std::string EncodeLastMet(const LastMet& last_met);
LastMet DecodeLastMet(const std::string& text, uint64_t boot);

}  // namespace splitlet::gc
