#pragma once

/// The files of a node shutdown: its progress, for this boot, and the times of the last one.
/// Killed at any line: the next start reads what was saved last.
/// Threads: a strand; calls block.
/// Errors: what cannot be read is in SavedShutdown::problems; Save tries both files and gives the
/// first error.
/// Source: docs/behaviour/node-shutdown.md.

#include <optional>
#include <string>
#include <vector>

#include "libs/fs/record_store.h"
#include "services/gc/config.h"
#include "services/gc/protect/shutdown/shutdown_times.h"

namespace splitlet::gc {

struct SavedShutdown {
  std::optional<ShutdownTimes> times;
  std::optional<ShutdownProgress> progress;
  std::vector<std::string> problems;
};

class ShutdownDisk {
 public:
  ShutdownDisk(fs::FileSystem& files, const Clock& clock, const GcConfig& config);

  /// Also removes what an earlier start did not finish to write.
  SavedShutdown Read() const;
  /// `progress`: nothing when no shutdown is going on.
  Status Save(const std::optional<ShutdownProgress>& progress, const ShutdownTimes& times) const;

 private:
  void ReadTimes(SavedShutdown& saved) const;
  void ReadProgress(SavedShutdown& saved) const;

  fs::FileSystem& files_;
  const Clock& clock_;
  const std::string times_path_;
  const fs::RecordStore records_;
};

}  // namespace splitlet::gc
