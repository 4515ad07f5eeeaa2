#pragma once

/// Empty files where there is none: what somebody else makes there at the same moment stays.
/// Threads: any; it blocks on the disk.
/// Errors:  by errno (ErrnoStatus), the reason only.

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// In a folder that is there, with exactly this mode. OK where something is already, also a link.
Status MakeNewFile(const std::string& path, uint32_t mode);

/// MakeNewFile, or a test's.
using NewFileMaker = std::function<Status(const std::string& path, uint32_t mode)>;

}  // namespace splitlet::fs
