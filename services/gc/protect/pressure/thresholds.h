#pragma once

/// Which eviction thresholds are met, and which of them are due for action.
/// Threads: pure.
/// Errors: none; libs/config refuses values that make no sense.
/// Units: those of the signals.
/// Source: docs/behaviour/eviction.md, "Thresholds"; kubelet eviction.managerImpl synchronize.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/gc/config.h"
#include "services/gc/measure/signals.h"

namespace splitlet::gc {

struct Threshold {
  std::string signal;
  std::string value;        // quantity, or percentage of the capacity
  Duration grace{0};        // 0: a hard threshold
  std::string min_reclaim;  // quantity or percentage; empty: none
  bool hard() const { return grace <= Duration{0}; }
  bool operator==(const Threshold&) const = default;
};

/// Hard thresholds first, each kind ordered by signal. Where pods are limited to the allocatable
/// memory, the hard threshold of memory.available also counts for what is left of that memory. The
/// thresholds of nodefs also count for containerfs, which has none of its own.
std::vector<Threshold> ThresholdsOf(const GcConfig& config);
/// The key under which the state of a threshold is saved: "memory.available",
/// "memory.available/soft".
std::string KeyOf(const Threshold& threshold);

enum class Counted { kValue, kValueAndReclaim };
/// Met when strictly less than the value is left. A threshold of 0% or 100% is off and never met.
bool IsMet(const Threshold& threshold, const PressureSignal& signal, Counted counted);
/// Whether one of the thresholds is met, counting its minimum reclaim.
bool AnyMet(const std::vector<Threshold>& thresholds, const std::vector<PressureSignal>& signals);

/// The state of a threshold that is met; saved for this boot.
struct MetState {
  Clock::Time since;
  /// The grace period is over. The threshold then ends only when its minimum reclaim is free, too.
  bool acted_on = false;
  bool operator==(const MetState&) const = default;
};
using MetStates = std::map<std::string, MetState>;  // by key

struct Judged {
  std::vector<std::string> met;  // signals, for the conditions
  std::vector<Threshold> due;    // past their grace period, memory first
};
/// Updates `states`. A threshold whose signal could not be read counts as not met.
Judged Judge(const std::vector<Threshold>& thresholds, const std::vector<PressureSignal>& signals,
             MetStates& states, Clock::Time now);

/// The resource that a signal measures, with the name that events and messages use.
enum class Starved { kMemory, kStorage, kInodes, kPids };
std::optional<Starved> StarvedBy(const std::string& signal);
/// "memory", "ephemeral-storage", "inodes", "pids"
std::string NameOf(Starved resource);

/// Saved for this boot as lines "<key> <monotonic ns> <0 or 1>".
std::string EncodeMetStates(const MetStates& states);
MetStates DecodeMetStates(const std::string& text, uint64_t boot);

}  // namespace splitlet::gc
