#pragma once

/// Reads the ends of files that pods can influence, by paths from other sources: logs and
/// termination messages. Links in folders of root are followed, because an administrator may have
/// moved them. Any other link is an error, because a pod may have made it.
/// Threads: any; blocks on the disk alone: only regular files are opened.
/// Errors:  NOT_FOUND; FAILED_PRECONDITION: a link is on the way; INVALID_ARGUMENT: not
///          the path of a regular file; others by errno.
/// Source:  docs/behaviour/relist.md, "Termination message".

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::fs {

/// The last `max_bytes`, or the whole file if it is shorter.
using TailReader =
    std::function<StatusOr<std::string>(const std::string& path, uint64_t max_bytes)>;

TailReader MakeTailReader(const std::vector<std::string>& folders);

}  // namespace splitlet::fs
