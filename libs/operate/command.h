#pragma once

/// Runs another program to its end.
/// Threads: any; the call blocks.
/// Errors: UNAVAILABLE with what it printed when it fails.

#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::operate {

/// What it printed, on both outputs.
StatusOr<std::string> RunCommand(std::vector<std::string> argv);

}  // namespace splitlet::operate
