#pragma once

/// How often a process was started in this boot, what ended it before: a file in its run folder.
/// Threads: blocks on the file.
/// Errors: of the file system.

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/fs/file_system.h"

namespace splitlet::daemon {

struct RestartCount {
  uint64_t before = 0;  // starts of this boot before this one
  /// "boot": the first of this boot; "stopped": it was told to stop before; "died": it was not.
  std::string_view reason = "boot";
};

/// Counts this start. A file of another boot, or one that cannot be read as such, counts as none.
StatusOr<RestartCount> CountStart(fs::FileSystem& files, const Clock& clock,
                                  const std::string& path);

/// Told to stop: the next start is not one after a death.
Status RecordStop(fs::FileSystem& files, const Clock& clock, const std::string& path);

}  // namespace splitlet::daemon
