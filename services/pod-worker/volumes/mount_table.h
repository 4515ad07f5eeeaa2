#pragma once

/// What is mounted on the node.
/// Threads: any; the call blocks.
/// Errors:  of reading the table; one that does not exist is empty.
/// Source:  proc(5).

#include <string>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::pod_worker {

/// The text of fs::kMountTable.
StatusOr<std::string> ReadMountTable(fs::FileSystem& files);

}  // namespace splitlet::pod_worker
