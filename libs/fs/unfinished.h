#pragma once

/// New content that Replace and Allocate were killed over, between writing it beside the file and
/// renaming it. Nobody reads it, and only the next write of the same file would put another in its
/// place: its writer's next start removes it, before it writes anything there.
/// Threads: any; blocks on the disk.
/// Errors:  by errno, with the path.
/// Source:  docs/safety.md, rule 1.

#include <string>
#include <string_view>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

/// Of files in this folder, not below it, whose names begin with `prefix`; all of them are the
/// caller's. What is being written now would go too. No such folder is OK.
Status RemoveUnfinished(FileSystem& files, const std::string& folder, std::string_view prefix = "");

}  // namespace splitlet::fs
