#pragma once

/// Files whose content is a setting of the kernel: written as they stand, by one call, since the
/// kernel takes each as a whole value and nothing can be put in their place.
/// Threads: any; it blocks in the kernel.
/// Errors:  by errno (ErrnoStatus), the reason only; DATA_LOSS when it was written in part.

#include <functional>
#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::fs {

/// Of a file that is there and is no symlink.
Status WriteInPlace(const std::string& path, std::string_view value);

/// WriteInPlace, or a test's.
using InPlaceWriter = std::function<Status(const std::string& path, std::string_view value)>;

}  // namespace splitlet::fs
