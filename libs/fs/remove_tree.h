#pragma once

/// Removes a tree that somebody else wrote, however deep and wide: a loop with few open
/// directories; what is deeper is moved to the top first. Links are removed, never followed.
/// Killed at any line: a tree with fewer entries, some of them under other names at its top.
/// Threads: any; blocks on the disk.
/// Errors: by errno, and FAILED_PRECONDITION at a mount point.

#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// A file or link is removed as it is. One that is not there is OK.
Status RemoveTreeAt(const std::string& path);

}  // namespace splitlet::fs
