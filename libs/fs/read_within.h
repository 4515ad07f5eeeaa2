#pragma once

/// Reads files below a folder that somebody hostile may fill: no link leads out of it. Paths and
/// the targets of links are taken as if `root` were "/".
/// Threads: any; blocks on the disk, and on nothing else: a pipe or a device is no file, and is not
/// opened.
/// Errors:  those of the system; RESOURCE_EXHAUSTED when the file is longer than `max_bytes`.
/// Source:  docs/behaviour/runtime-config.md, "Environment and
/// command".

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

StatusOr<std::string> ReadWithin(const std::string& root, const std::string& path,
                                 uint64_t max_bytes);

/// As it is passed in.
using WithinReader = std::function<StatusOr<std::string>(
    const std::string& root, const std::string& path, uint64_t max_bytes)>;

}  // namespace splitlet::fs
