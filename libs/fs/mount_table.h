#pragma once

/// What is mounted, as the kernel lists it: no file system is asked, so one that hangs holds up
/// nobody.
/// Threads: any; pure.
/// Source:  proc(5).

#include <string>
#include <string_view>
#include <vector>

namespace splitlet::fs {

inline constexpr const char* kMountTable = "/proc/self/mountinfo";

/// Of the text of that file, in its order: what was mounted last at a path stands last.
std::vector<std::string> ParseMountPoints(std::string_view mountinfo);

/// Those at `folder` or below it, likewise.
std::vector<std::string> MountPointsBelow(std::string_view mountinfo, std::string_view folder);

}  // namespace splitlet::fs
