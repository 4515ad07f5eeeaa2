#pragma once

/// Reads files below a folder that a hostile program may fill; no link can lead out of the folder.
/// Paths and link targets are resolved as if `root` were "/".
/// Threads: any; blocks on the disk alone: pipes and devices are not opened.
/// Errors:  by errno; RESOURCE_EXHAUSTED if the file is longer than `max_bytes`.
/// Source:  docs/behaviour/runtime-config.md, "Environment and command".

#include <cstdint>
#include <functional>
#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

StatusOr<std::string> ReadWithin(const std::string& root, const std::string& path,
                                 uint64_t max_bytes);

/// ReadWithin, or a test's.
using WithinReader = std::function<StatusOr<std::string>(
    const std::string& root, const std::string& path, uint64_t max_bytes)>;

}  // namespace splitlet::fs
