#pragma once

/// Which eviction thresholds are met, and which of them are to be acted on.
/// Threads: pure.
/// Errors: none; a value that makes no sense was refused with the configuration.
/// Units: as the signals.
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
  Duration grace{0};        // 0: a hard one
  std::string min_reclaim;  // the same; empty: none
  bool hard() const { return grace <= Duration{0}; }
  bool operator==(const Threshold&) const = default;
};

/// Hard ones first, each by signal. Where pods are limited to what is allocatable, the hard one of
/// memory.available counts for what is left of that, too. Those of nodefs count for containerfs,
/// which has none of its own.
std::vector<Threshold> ThresholdsOf(const GcConfig& config);
/// "memory.available", "memory.available/soft": for what is remembered.
std::string KeyOf(const Threshold& threshold);

enum class Counted { kValue, kValueAndReclaim };
/// Strictly less is left than the value. One that is switched off (0%, 100%) is never met.
bool IsMet(const Threshold& threshold, const PressureSignal& signal, Counted counted);
/// One of them is, counting what is to be reclaimed beyond it.
bool AnyMet(const std::vector<Threshold>& thresholds, const std::vector<PressureSignal>& signals);

/// What is remembered of the thresholds that are met, for this boot.
struct MetState {
  Clock::Time since;
  /// It is past its grace: it ends only when its minimum reclaim is free, too.
  bool acted_on = false;
  bool operator==(const MetState&) const = default;
};
using MetStates = std::map<std::string, MetState>;  // by key

struct Judged {
  std::vector<std::string> met;  // signals; for the conditions
  std::vector<Threshold> due;    // past their grace, memory first
};
/// A threshold whose signal could not be read is not met: nothing is done about what is not known.
Judged Judge(const std::vector<Threshold>& thresholds, const std::vector<PressureSignal>& signals,
             MetStates& states, Clock::Time now);

/// What a signal is about, by the name that events and messages use.
enum class Starved { kMemory, kStorage, kInodes, kPids };
std::optional<Starved> StarvedBy(const std::string& signal);
/// "memory", "ephemeral-storage", "inodes", "pids"
std::string NameOf(Starved resource);

/// As a fact of this boot: lines "<key> <monotonic ns> <0 or 1>".
std::string EncodeMetStates(const MetStates& states);
MetStates DecodeMetStates(const std::string& text, uint64_t boot);

}  // namespace splitlet::gc
