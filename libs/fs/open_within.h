#pragma once

/// Opens paths below a folder that a hostile program may fill and change at the same time. No link
/// leads out of the folder; nothing outside of it is made or touched. An absolute link is resolved
/// on this machine: it may lead below the folder, by the caller's path of the folder or by the path
/// without links. A link that leaves the folder must return by one of these paths.
/// Threads: any; blocks on the disk.
/// Errors:  by errno; OUT_OF_RANGE: links lead out, or nowhere.
/// Source:  docs/behaviour/volumes.md, "subPath".

#include <string>

#include "libs/base/status.h"
#include "libs/fs/fd.h"

namespace splitlet::fs {

/// A descriptor that only names the path (O_PATH). Missing directories are created, with the mode
/// of the root whatever the umask. A path with ".." must stay below the root at each step.
StatusOr<Fd> OpenOrMakeWithin(const std::string& root, const std::string& path_below);

}  // namespace splitlet::fs
