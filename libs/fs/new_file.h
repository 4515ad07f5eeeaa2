#pragma once

/// Creates empty files; a file that another program creates at the same time is kept.
/// Threads: any; it blocks on the disk.
/// Errors:  by errno (ErrnoStatus), the reason only.

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// Creates the file in an existing folder, with exactly this mode. Also OK if the path exists, even
/// as a link.
Status MakeNewFile(const std::string& path, uint32_t mode);

/// MakeNewFile, or a test's.
using NewFileMaker = std::function<Status(const std::string& path, uint32_t mode)>;

}  // namespace splitlet::fs
