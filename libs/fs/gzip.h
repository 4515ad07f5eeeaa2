#pragma once

/// Threads: any; blocks on the disk and takes the CPU. By errno, where it fails.

#include <string>

#include "libs/base/status.h"

namespace splitlet::fs {

/// Writes the content of `from` to `to`, compressed, with the mode of `from`, piece by piece. What
/// is at `to` is replaced; on an error it is gone. Follows no link at either.
Status GzipFile(const std::string& from, const std::string& to);

}  // namespace splitlet::fs
