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

/// Signals with a threshold of which nothing is known now.
std::vector<std::string> UnreadThresholds(const Signals& signals, const GcConfig& config);

/// When each condition's thresholds were last met. A condition stays for the transition period,
/// and does not end because nobody could look.
using LastMet = std::map<std::string, Clock::Time>;
void Remember(LastMet& last_met, const std::vector<std::string>& met, Clock::Time now,
              Duration transition);
std::vector<std::string> Conditions(const LastMet& last_met, Clock::Time now, Duration transition);
/// A condition that stands counts as met while one of its signals cannot be read.
void Hold(LastMet& last_met, const std::vector<std::string>& unread, Clock::Time now);

/// As a fact of this boot: lines "<condition> <monotonic ns>".
std::string EncodeLastMet(const LastMet& last_met);
LastMet DecodeLastMet(const std::string& text, uint64_t boot);

}  // namespace splitlet::gc
