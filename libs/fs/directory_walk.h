#pragma once

/// Walks a directory tree that other programs change at the same time, such as /sys/fs/cgroup.
/// Unlike std::filesystem::recursive_directory_iterator it does not end at a directory that was
/// removed before it could be opened.

#include <filesystem>
#include <functional>

namespace splitlet::fs {

/// Calls `visit` for each file and directory below `top`, parents first. Descends up to `depth`
/// levels below `top` (0: only the entries of `top`), and follows no symbolic link. Skips
/// unreadable directories.
void ForEachEntryBelow(const std::filesystem::path& top, int depth,
                       const std::function<void(const std::filesystem::directory_entry&)>& visit);

}  // namespace splitlet::fs
