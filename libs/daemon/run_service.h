#pragma once

/// The main function of every process: flags, configuration, locks, signals, then the service until
/// a stop is requested.
/// Threads: the main one.
/// Errors: printed; the exit code is not 0.

#include <string>

#include "libs/daemon/service.h"

namespace splitlet::daemon {

/// Returns the exit code.
int RunService(const std::string& process, int argc, char** argv, const MakeService& make);

}  // namespace splitlet::daemon
