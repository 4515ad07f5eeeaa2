#pragma once

/// Where memory in use has to get for a threshold to be met, for the kernel to tell
/// (libs/cgroup/memory_alarm.h).
/// Threads: ReadMemoryUse blocks, the rest is pure.
/// Errors: UNIMPLEMENTED where cgroups are of version 2; files that cannot be read.
/// Units: bytes.
/// Source: docs/behaviour/eviction.md, "Memory between two looks"; kubelet MemoryThresholdNotifier.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libs/cgroup/memory_alarm.h"
#include "libs/fs/file_system.h"
#include "services/gc/config.h"
#include "services/gc/measure/signals.h"
#include "services/gc/protect/pressure/thresholds.h"

namespace splitlet::gc {

/// What each signal of memory is about: a cgroup, and what it used when it was read.
using MemoryUse = std::map<std::string, cgroup::MemoryLine>;  // by signal
StatusOr<MemoryUse> ReadMemoryUse(fs::FileSystem& files, const GcConfig& config);

/// One for each threshold that is not met. `signals` were read after `use`: what was taken between
/// the two makes a line lower than it need be, never higher.
std::vector<cgroup::MemoryLine> LinesOf(const std::vector<Threshold>& thresholds,
                                        const std::vector<PressureSignal>& signals,
                                        const MemoryUse& use);

}  // namespace splitlet::gc
