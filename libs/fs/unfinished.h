#pragma once

/// Temporary files of a writer that was killed before it renamed them. The writer's next start
/// removes them, before it writes there.
/// Threads: any; blocks on the disk.
/// Errors:  by errno, with the path.
/// Source:  docs/safety.md, rule 1.

#include <string>
#include <string_view>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

/// Removes temporary files of this folder, without its subfolders, whose names begin with `prefix`.
/// The caller owns them all and must not be writing any. OK if the folder does not exist.
Status RemoveUnfinished(FileSystem& files, const std::string& folder, std::string_view prefix = "");

}  // namespace splitlet::fs
