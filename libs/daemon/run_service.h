#pragma once

/// The main of every process: flags, configuration, locks, signals, then its service until it is
/// asked to end.
/// Threads: the main one.
/// Errors: printed; the exit code says that there were some.

#include <string>

#include "libs/daemon/service.h"

namespace splitlet::daemon {

/// Returns the exit code.
int RunService(const std::string& process, int argc, char** argv, const MakeService& make);

}  // namespace splitlet::daemon
