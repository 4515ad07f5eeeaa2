#pragma once

/// `chaos`: the words after it are for splitlet-chaos, a program and a package of its own, which
/// replaces this process and calls itself "splitletctl chaos". Called by main.
/// Threads: the main one.
/// Errors: NOT_FOUND naming the package when the program is not installed.

#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::ctl {

/// Returns only if the program cannot be started. `top`: value of --state-dir.
Status BecomeChaos(const std::optional<std::string>& top, const std::vector<std::string>& words);

}  // namespace splitlet::ctl
