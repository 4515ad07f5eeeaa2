#pragma once

/// The ends of files that pods have at hand, by paths that others name: logs and termination
/// messages. Links on the way to some folders that are root's own are followed, as an administrator
/// may have moved them; below these folders, and on the way to any other file, a link is an error,
/// since a pod may have put it there.
/// Threads: any; blocks on the disk, and on nothing else: only a regular file is opened at all.
/// Errors:  NOT_FOUND: there is none; FAILED_PRECONDITION: a link is on the way; INVALID_ARGUMENT:
///          no path of a regular file; others by errno.
/// Source:  docs/behaviour/relist.md, "Termination message".

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::fs {

/// The last `max_bytes`, less when the file is shorter.
using TailReader =
    std::function<StatusOr<std::string>(const std::string& path, uint64_t max_bytes)>;

TailReader MakeTailReader(const std::vector<std::string>& folders);

}  // namespace splitlet::fs
