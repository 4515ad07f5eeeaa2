#pragma once

/// Creates empty files; a file that another program creates at the same time stays.
/// Threads: any; it blocks on the disk.
/// Errors:  by errno (ErrnoStatus), the reason only.

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// In an existing folder, with exactly this mode. OK if the path exists already, also as a link.
Status MakeNewFile(const std::string& path, uint32_t mode);

/// MakeNewFile, or a test's.
using NewFileMaker = std::function<Status(const std::string& path, uint32_t mode)>;

}  // namespace splitlet::fs
