#pragma once

/// Removes a tree that other programs wrote, however deep and wide, with few open directories:
/// deeper directories are moved to the top first. Removes links and never follows them.
/// Killed at any line: a tree with fewer entries, some under other names at its top.
/// Threads: any; blocks on the disk.
/// Errors: by errno; FAILED_PRECONDITION at a mount point; ABORTED when `go_on` says no.

#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// Also removes a file or link. OK if the path does not exist. `go_on` is asked before each entry.
Status RemoveTreeAt(const std::string& path, const std::function<bool()>& go_on);

}  // namespace splitlet::fs
