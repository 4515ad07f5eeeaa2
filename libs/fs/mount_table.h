#pragma once

/// What is mounted, as the kernel lists it: no file system is asked, so one that hangs holds up
/// nobody.
/// Threads: any; parsing is pure, ReadMountTable blocks.
/// Errors:  of reading the table.
/// Source:  proc(5).

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::fs {

inline constexpr const char* kMountTable = "/proc/self/mountinfo";

/// The text of that file; empty where there is none, as without /proc.
StatusOr<std::string> ReadMountTable(FileSystem& files);

/// Of the text of that file, in its order: what was mounted last at a path stands last.
std::vector<std::string> ParseMountPoints(std::string_view mountinfo);

/// Those at `folder` or below it, likewise.
std::vector<std::string> MountPointsBelow(std::string_view mountinfo, std::string_view folder);

}  // namespace splitlet::fs
