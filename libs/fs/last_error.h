#pragma once

/// What the call that just failed left in errno.
/// Threads: any.

#include <cerrno>

#include "libs/base/status.h"

namespace splitlet::fs {

inline Status LastError() { return ErrnoStatus(errno); }

}  // namespace splitlet::fs
