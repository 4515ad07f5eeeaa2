#pragma once

/// errno of the failed call, as a Status.
/// Threads: any.

#include <cerrno>

#include "libs/base/status.h"

namespace splitlet::fs {

inline Status LastError() { return ErrnoStatus(errno); }

}  // namespace splitlet::fs
