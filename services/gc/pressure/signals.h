#pragma once

/// How much there is left of what nodes run out of, and which node conditions follow.
/// Threads: ReadSignals blocks, the rest is pure.
/// Errors: a signal that cannot be read is left out.
/// Units: bytes, inodes, process ids.
/// Source: docs/behaviour/garbage-collection.md, "Pressure".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/config.h"

namespace splitlet::gc {

struct PressureSignal {
  std::string name;  // "nodefs.available"
  int64_t available = 0;
  int64_t capacity = 0;
  bool operator==(const PressureSignal&) const = default;
};

struct SignalSources {
  fs::FileSystem& files;
  cri::Images& images;
  const Clock& clock;
};
std::vector<PressureSignal> ReadSignals(const SignalSources& from, const GcConfig& config);

/// From the texts of /proc/meminfo, and of /proc/loadavg with the kernel's limits.
std::optional<PressureSignal> MemorySignal(const std::string& meminfo);
std::optional<PressureSignal> PidSignal(const std::string& loadavg, const std::string& pid_max,
                                        const std::string& threads_max);

/// Signals below their hard threshold.
std::vector<std::string> MetThresholds(const std::vector<PressureSignal>& signals,
                                       const std::map<std::string, std::string>& eviction_hard);

/// "DiskPressure" for "nodefs.available"; empty for an unknown signal.
std::string ConditionOf(const std::string& signal);

/// When each condition's thresholds were last met. A condition stays for the transition period.
using LastMet = std::map<std::string, Clock::Time>;
void Remember(LastMet& last_met, const std::vector<std::string>& met, Clock::Time now,
              Duration transition);
std::vector<std::string> Conditions(const LastMet& last_met, Clock::Time now, Duration transition);

/// As a fact of this boot: lines "<condition> <monotonic ns>".
std::string EncodeLastMet(const LastMet& last_met);
LastMet DecodeLastMet(const std::string& text, uint64_t boot);

}  // namespace splitlet::gc
