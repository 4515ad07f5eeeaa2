#pragma once

/// Computes the memory usage at which each threshold is met, for the notification of the kernel
/// (libs/cgroup/memory_alarm.h).
/// Threads: ReadMemoryUse blocks, the rest is pure.
/// Errors: UNIMPLEMENTED on cgroup v2; those of files that cannot be read.
/// Units: bytes.
/// Source: docs/behaviour/eviction.md, "Memory between two measurements"; kubelet
/// MemoryThresholdNotifier.

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

/// The cgroup behind each memory signal, and how much it used when it was read.
using MemoryUse = std::map<std::string, cgroup::MemoryLine>;  // by signal
StatusOr<MemoryUse> ReadMemoryUse(fs::FileSystem& files, const GcConfig& config);

/// Makes a line for each threshold that is not met. `signals` must be read after `use`: memory that
/// was allocated in between makes a line too low, never too high.
std::vector<cgroup::MemoryLine> LinesOf(const std::vector<Threshold>& thresholds,
                                        const std::vector<PressureSignal>& signals,
                                        const MemoryUse& use);

}  // namespace splitlet::gc
