#pragma once

/// Eviction signals: how much is left of the resources that a node runs out of. The signals of
/// containerfs exist only where containers write to another file system than that of the images.
/// Threads: ReadSignals blocks, the rest is pure.
/// Errors: a signal that cannot be read is listed in `unread`, with the reason.
/// Units: bytes, inodes, process ids.
/// Source: docs/behaviour/garbage-collection.md, "Pressure".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/config.h"

namespace splitlet::gc {

class TreeMeter;

struct PressureSignal {
  std::string name;  // "nodefs.available"
  int64_t available = 0;
  int64_t capacity = 0;
  bool operator==(const PressureSignal&) const = default;
};

/// The rest of the memory that all pods together may use. A threshold of memory.available
/// counts for this signal, too.
inline constexpr std::string_view kPodsMemorySignal = "allocatableMemory.available";

struct Signals {
  std::vector<PressureSignal> read;
  std::map<std::string, std::string> unread;  // name -> why
};

/// Whether the signal is one of containerfs, for which the configuration has no thresholds.
bool IsContainerFs(const std::string& signal);
/// "containerfs.available" for "nodefs.available"; nothing for a signal that is not of nodefs.
std::optional<std::string> SameForContainerFs(const std::string& signal);

struct SignalSources {
  fs::FileSystem& files;
  cri::Images& images;
  TreeMeter& meter;
  const Clock& clock;
  /// At the last inspection containers wrote to another file system than that of the images.
  bool split = false;
};
Signals ReadSignals(const SignalSources& from, const GcConfig& config);

/// From the texts of /proc/meminfo, and of /proc/loadavg with the limits of the kernel.
std::optional<PressureSignal> MemorySignal(const std::string& meminfo);
std::optional<PressureSignal> PidSignal(const std::string& loadavg, const std::string& pid_max,
                                        const std::string& threads_max);

struct PodsMemory {
  PressureSignal signal;
  std::string cgroup;  // path, in the form of the cgroup driver
};
/// The limit of the cgroup of all pods less its working set.
StatusOr<PodsMemory> ReadPodsMemory(fs::FileSystem& files, const std::string& cgroup);

/// Null: `signals` does not hold it.
const PressureSignal* FindSignal(const std::vector<PressureSignal>& signals,
                                 const std::string& name);

}  // namespace splitlet::gc
