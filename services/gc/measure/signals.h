#pragma once

/// How much there is left of what nodes run out of, and which node conditions follow. There are
/// signals of containerfs only where containers write to another file system than that of images.
/// Threads: ReadSignals blocks, the rest is pure.
/// Errors: a signal that cannot be read is told beside those that can; what it said last stands.
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

/// Of what all pods together may use; a threshold of memory.available counts for it, too.
inline constexpr std::string_view kPodsMemorySignal = "allocatableMemory.available";

struct Signals {
  std::vector<PressureSignal> read;
  std::map<std::string, std::string> unread;  // name -> why
};

/// Whether this is about the file system that containers write to, which no threshold is set for.
bool IsContainerFs(const std::string& signal);
/// "containerfs.available" for "nodefs.available"; nothing for those that are not of nodefs.
std::optional<std::string> SameForContainerFs(const std::string& signal);

struct SignalSources {
  fs::FileSystem& files;
  cri::Images& images;
  TreeMeter& meter;
  const Clock& clock;
  /// When last looked, containers wrote to another file system than that of the images.
  bool split = false;
};
Signals ReadSignals(const SignalSources& from, const GcConfig& config);

/// From the texts of /proc/meminfo, and of /proc/loadavg with the kernel's limits.
std::optional<PressureSignal> MemorySignal(const std::string& meminfo);
std::optional<PressureSignal> PidSignal(const std::string& loadavg, const std::string& pid_max,
                                        const std::string& threads_max);

struct PodsMemory {
  PressureSignal signal;
  std::string cgroup;  // as its driver calls it
};
/// Of the cgroup of all pods: its limit less its working set.
StatusOr<PodsMemory> ReadPodsMemory(fs::FileSystem& files, const std::string& cgroup);

/// Null: it is none of them.
const PressureSignal* FindSignal(const std::vector<PressureSignal>& signals,
                                 const std::string& name);

}  // namespace splitlet::gc
