#pragma once

/// How often a process was started in this boot: a small file in its run folder.
/// Threads: blocks on the file. Errors: of the file system.

#include <cstdint>
#include <string>

#include "libs/base/clock.h"
#include "libs/fs/file_system.h"

namespace splitlet::daemon {

/// Counts this start; returns how many there were before it. A file of another boot, or one that
/// cannot be read as such, counts as none.
StatusOr<uint64_t> CountStart(fs::FileSystem& files, const Clock& clock, const std::string& path);

}  // namespace splitlet::daemon
