#pragma once

/// Shell completion of splitletctl.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for an unknown shell.

#include <string>

#include "libs/base/status.h"

namespace splitlet::ctl {

/// `shell`: bash, zsh or fish. The script calls splitletctl for the names of pods.
StatusOr<std::string> CompletionScript(const std::string& shell);

}  // namespace splitlet::ctl
