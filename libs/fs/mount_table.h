#pragma once

/// The kernel's list of mounts. Reading the list accesses no file system, so a mount that hangs
/// delays nothing.
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

/// The text of /proc/self/mountinfo; empty if the file does not exist, as without /proc.
StatusOr<std::string> ReadMountTable(FileSystem& files);

/// Mount points in the order of the text; the newest mount of a path comes last.
std::vector<std::string> ParseMountPoints(std::string_view mountinfo);

/// Mount points at `folder` or below it, in the same order.
std::vector<std::string> MountPointsBelow(std::string_view mountinfo, std::string_view folder);

}  // namespace splitlet::fs
