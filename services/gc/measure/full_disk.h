#pragma once

/// Whether the disk has room for the files that the end of a pod needs.
/// Threads: any; the call blocks.
/// Errors: a disk that cannot be measured counts as not full.
/// Source: docs/safety.md, rule 28.

#include <string>

#include "libs/fs/file_system.h"

namespace splitlet::gc {

/// Less than 1 MiB or no inode is free at `path`: only a reserve still allows a write.
bool DiskIsFull(fs::FileSystem& files, const std::string& path);

}  // namespace splitlet::gc
