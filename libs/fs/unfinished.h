#pragma once

/// New content of a file whose writer was killed between writing it beside the file and renaming
/// it. The writer's next start removes it, before it writes anything there.
/// Threads: any; blocks on the disk.
/// Errors:  by errno, with the path.
/// Source:  docs/safety.md, rule 1.

#include <string>
#include <string_view>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

/// Removes unfinished files of this folder, not below it, whose names begin with `prefix`. All of
/// them belong to the caller, who writes none now. OK if the folder does not exist.
Status RemoveUnfinished(FileSystem& files, const std::string& folder, std::string_view prefix = "");

}  // namespace splitlet::fs
