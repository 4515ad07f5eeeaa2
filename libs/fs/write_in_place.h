#pragma once

/// Writes files whose content is a setting of the kernel: in place, by one call, since the kernel
/// takes each write as a whole value.
/// Threads: any; it blocks in the kernel.
/// Errors:  by errno (ErrnoStatus), the reason only; DATA_LOSS: written in part.

#include <functional>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::fs {

/// The file exists and is no symlink.
Status WriteInPlace(const std::string& path, std::string_view value);

/// WriteInPlace, or a test's.
using InPlaceWriter = std::function<Status(const std::string& path, std::string_view value)>;

}  // namespace splitlet::fs
