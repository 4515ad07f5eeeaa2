#pragma once

/// Files that change all at once: in a directory of their own, named by a link "..data", which a
/// rename replaces; what a user opens are links through it. Readers see the old set whole or the
/// new one whole.
/// Killed at any line: readers see one of the two; the next call removes what is left of this one
/// before it writes. One that fails removes what it has made. What cannot be removed keeps no set
/// from its readers: it is told afterwards.
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
  /// Called with the directory of a new set, which nobody sees yet; may be null.
  std::function<void(const std::string& set)> on_written = nullptr;
};
/// `dir` is there. A set with equal contents stays, whatever its modes.
Status Publish(const std::string& dir, const Payload& payload, const Publishing& how);

/// There is a set that readers see.
bool IsPublished(fs::FileSystem& files, const std::string& dir);

}  // namespace splitlet::pod_worker
