#pragma once

/// Shell completion of splitletctl.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for an unknown shell.

#include <string>

#include "libs/base/status.h"

namespace splitlet::ctl {

/// `shell`: bash, zsh or fish. Pod names are asked from splitletctl itself.
StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace splitlet::ctl
