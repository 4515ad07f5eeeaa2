#pragma once

/// Finds the sockets below the registry directory, in folders of any depth. Skips names that begin
/// with a dot, links, and files that are no sockets.
/// Threads: FindSockets blocks on the disk; KeepUnread is pure.
/// Errors:  in the result, by path.
/// Source:  kubelet pluginwatcher; docs/safety.md, rules 7 and 27.

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "libs/plugins/plugin.h"

namespace splitlet::plugins {

/// Entries above these bounds count as unread.
inline constexpr size_t kMostSockets = 256;
inline constexpr size_t kMostFolders = 32;

struct FoundSockets {
  std::map<std::string, PluginSocket> sockets;  // by path
  std::set<std::string> folders;                // those below the directory that can be watched
  std::map<std::string, std::string> refused;   // path -> why the entry can be no plugin
  std::map<std::string, Status> unread;         // file or folder whose content is unknown -> why
};

/// Makes the directory if it is missing.
FoundSockets FindSockets(fs::FileSystem& files, const std::string& directory);

/// Missing is unknown: takes over from `before` all that is at or below an unread path.
void KeepUnread(const FoundSockets& before, FoundSockets& now);

}  // namespace splitlet::plugins
