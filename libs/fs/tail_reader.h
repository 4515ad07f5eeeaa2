#pragma once

/// Reads the ends of files in the reach of pods, by paths that others give: logs and termination
/// messages. Links on the way to root's own folders are followed, as an administrator may have
/// moved them. Any other link is an error, since a pod may have put it there.
/// Threads: any; blocks on the disk alone: only regular files are opened.
/// Errors:  NOT_FOUND; FAILED_PRECONDITION: a link is on the way; INVALID_ARGUMENT: no path of a
///          regular file; others by errno.
/// Source:  docs/behaviour/relist.md, "Termination message".

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::fs {

/// The last `max_bytes`, or the whole of a shorter file.
using TailReader =
    std::function<StatusOr<std::string>(const std::string& path, uint64_t max_bytes)>;

TailReader MakeTailReader(const std::vector<std::string>& folders);

}  // namespace splitlet::fs
