#pragma once

/// The consequences of one inspection of the node: conditions, thresholds that are due for action,
/// and what the next inspection has to know.
/// Threads: pure.
/// Errors: none; a signal that cannot be read holds its condition, and its threshold is not met.
/// Source: docs/behaviour/garbage-collection.md, "Pressure"; docs/behaviour/eviction.md,
/// "Thresholds".

#include <string>
#include <vector>

#include "services/gc/config.h"
#include "services/gc/measure/signals.h"
#include "services/gc/protect/pressure/conditions.h"
#include "services/gc/protect/pressure/thresholds.h"

namespace splitlet::gc {

/// State that one inspection leaves for the next, also over a restart: it is saved for this boot.
struct PressureMemory {
  LastMet last_met;
  MetStates met;
  bool operator==(const PressureMemory&) const = default;
};

struct PressureDecision {
  Judged judged;
  std::vector<std::string> conditions;
  PressureMemory next;
};

PressureDecision ComputePressure(const PressureMemory& memory, const Signals& signals,
                                 const GcConfig& config, Clock::Time now);

}  // namespace splitlet::gc
