#pragma once

/// Decides about the files of one container's log from their names and sizes. The live file is
/// "<n>.log", a rotated file "<n>.log.<local time>". A compressed file ends in ".gz", and in ".tmp"
/// while it is written.
/// Threads: pure.
/// Errors: none.
/// Units: bytes.
/// Source: docs/behaviour/garbage-collection.md, "Logs of running containers".

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::gc {

/// File names without the directory, as in all results.
struct LogFiles {
  std::string live;
  std::vector<std::string> names;  // all files of the directory
};

/// The files to remove before a rotation or after an interrupted one: unfinished compressed files,
/// files that also exist compressed, and all rotated files but the newest `keep`.
std::vector<std::string> LogsToRemove(const LogFiles& files, size_t keep);

/// The rotated files to compress, oldest first. The newest stays uncompressed for readers that have
/// not reached its end.
std::vector<std::string> LogsToCompress(const LogFiles& files);

/// The name for a file that is rotated now. It sorts after the names of all rotated files, even
/// when the clock was set back.
std::string RotatedName(const LogFiles& files, WallTime now);

/// How a live file grew between two inspections.
struct LogGrowth {
  uint64_t bytes = 0;  // at the last inspection; 0 after a rotation
  double bytes_per_second = 0;
  bool operator==(const LogGrowth&) const = default;
};
struct LogSeen {
  uint64_t bytes = 0;
  bool rotated = false;
  Clock::Time at;
};
/// The growth up to this inspection. `before_at`: no time at the first inspection.
LogGrowth GrowthOf(const LogGrowth& before, Clock::Time before_at, const LogSeen& now);
/// Time to the next inspection: `period`, or less when the file would be full earlier.
Duration UntilNextInspection(const LogGrowth& growth, uint64_t max_bytes, Duration period);

}  // namespace splitlet::gc
