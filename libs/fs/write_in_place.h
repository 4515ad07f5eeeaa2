#pragma once

/// Writes files whose content is a kernel setting: in place and in one call, because the kernel
/// takes each write as a whole value.
/// Threads: any; it blocks in the kernel.
/// Errors:  by errno (ErrnoStatus), the reason only; DATA_LOSS: only a part was written.

#include <functional>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::fs {

/// The file must exist and not be a symlink.
Status WriteInPlace(const std::string& path, std::string_view value);

/// WriteInPlace, or a test's.
using InPlaceWriter = std::function<Status(const std::string& path, std::string_view value)>;

}  // namespace splitlet::fs
