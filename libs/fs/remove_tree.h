#pragma once

/// Removes a tree that somebody else wrote, however deep and wide it is: a loop with a few open
/// directories and no list of names. What lies deeper than these reach is moved to the top of the
/// tree first, and meets the loop there. Links are removed, never followed; a mount point ends it.
/// Killed at any line: a tree with fewer entries, some of them under other names at its top.
/// Threads: any; blocks on the disk. Errors: by errno, and FAILED_PRECONDITION at a mount point.

#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// A file or link is removed as it is. One that is not there is OK.
Status RemoveTreeAt(const std::string& path);

}  // namespace splitlet::fs
