#pragma once

/// Threads: any; blocks on the disk and uses the CPU. Errors by errno.

#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// Compresses `from` into `to` in pieces, and keeps the mode of `from`. Replaces `to`; removes it
/// after an error. Follows no link at either path.
Status GzipFile(const std::string& from, const std::string& to);

}  // namespace splitlet::fs
