#pragma once

/// The files of one container's log, from their names and sizes alone: the live file is "<n>.log",
/// a rotated one "<n>.log.<local time>", compressed with ".gz" behind it, or ".tmp" while that is
/// written.
/// Threads: pure.
/// Errors: none.
/// Units: bytes.
/// Source: docs/behaviour/garbage-collection.md, "Logs of running containers".

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/clock.h"

namespace splitlet::gc {

/// Names without the directory, as are those in the answers.
struct LogFiles {
  std::string live;
  std::vector<std::string> names;  // all of its directory
};

/// What a rotation, or the look after one that was cut short, takes away: halves of compressed
/// files, files that are there compressed too, and all rotated ones but the newest `keep`.
std::vector<std::string> LogsToRemove(const LogFiles& files, size_t keep);

/// Rotated ones that are to be compressed, oldest first. The newest stays as it is, for readers who
/// have not read it to its end.
std::vector<std::string> LogsToCompress(const LogFiles& files);

/// The name for a file that is rotated now; after that of every rotated one, so that their order is
/// that of their names whatever the clock does.
std::string RotatedName(const LogFiles& files, WallTime now);

/// What two inspections of a live file show.
struct LogGrowth {
  uint64_t bytes = 0;  // at the last look; after a rotation 0
  double bytes_per_second = 0;
};
/// When to look again: at the latest after `period`, sooner where the file would be full before.
Duration UntilNextInspection(const LogGrowth& growth, uint64_t max_bytes, Duration period);

}  // namespace splitlet::gc
