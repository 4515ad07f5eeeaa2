#pragma once

/// How often a process was started in this boot and how the last run ended: a file in the run
/// folder.
/// Threads: blocks on the file.
/// Errors: the file system's.

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/fs/file_system.h"

namespace splitlet::daemon {

struct RestartCount {
  uint64_t before = 0;  // earlier starts of this boot
  /// "boot": first start of this boot; "stopped": asked to stop before; "died": killed or crashed.
  std::string_view reason = "boot";
};

/// Counts this start. A file of another boot or an unreadable file counts as none.
StatusOr<RestartCount> CountStart(fs::FileSystem& files, const Clock& clock,
                                  const std::string& path);

/// The process was asked to stop: the next start is not one after a death.
Status RecordStop(fs::FileSystem& files, const Clock& clock, const std::string& path);

}  // namespace splitlet::daemon
