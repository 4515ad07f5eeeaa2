#pragma once

/// The identity of a state directory, which sandboxes carry in the annotation splitlet.dev/node.
/// The id is the target of a symlink, which only one of several starting processes succeeds in
/// creating.
/// Threads: any; calls block, and fail as the file system does.
/// Source: docs/safety.md, rule 10.

#include <string>

#include "libs/fs/file_system.h"

namespace splitlet::fs {

/// Returns the id of this state directory; if there is none, `fresh` becomes the id.
StatusOr<std::string> EnsureStateId(FileSystem& files, const std::string& state_dir,
                                    const std::string& fresh);

/// A random id from the kernel, for `fresh`.
StatusOr<std::string> RandomStateId(FileSystem& files);

/// "<state id>/<node name>".
inline std::string NodeAnnotationValue(const std::string& state_id, const std::string& node_name) {
  return state_id + "/" + node_name;
}

}  // namespace splitlet::fs
