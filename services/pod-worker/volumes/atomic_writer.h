#pragma once

/// Replaces a set of files atomically. Each set has its own directory, which the link "..data"
/// names and a rename replaces; readers open links through "..data". So readers see the whole old
/// set or the whole new one.
/// Killed at any line: readers see one of the two sets. The next call removes leftovers before it
///          writes; a call that fails removes its own. Leftovers that cannot be removed do not keep
///          the new set from readers: the error comes afterwards.
/// Threads: any, one call for a directory at a time; blocks on files.
/// Errors:  `invalid path: must not contain '..': "x/../y"`, and those of the files.
/// Source:  docs/behaviour/volumes.md, "Objects as files"; kubelet AtomicWriter.

#include <functional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/fs/file_system.h"
#include "services/pod-worker/volumes/payload.h"

namespace splitlet::pod_worker {

struct Publishing {
  fs::FileSystem& files;
  WallTime now;
  /// Called with the directory of a new set before readers see it; may be null.
  std::function<void(const std::string& set)> on_written = nullptr;
};
/// `dir` exists. A set with equal contents stays, even with other modes.
Status Publish(const std::string& dir, const Payload& payload, const Publishing& how);

/// Readers see a set.
bool IsPublished(fs::FileSystem& files, const std::string& dir);

}  // namespace splitlet::pod_worker
