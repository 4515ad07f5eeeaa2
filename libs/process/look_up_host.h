#pragma once

/// Addresses of a host name by this machine's resolver: hosts file, DNS or other configured
/// sources. Runs getent, because a resolver inside of the process cannot be cancelled.
/// Threads: any; the call blocks, for two seconds at most.
/// Errors:  NOT_FOUND for a name without addresses; those of RunProgram.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/process/run_program.h"

namespace splitlet::process {

/// In the resolver's order, without duplicates.
StatusOr<std::vector<std::string>> LookUpHost(const ProgramRunner& run, const std::string& name);

}  // namespace splitlet::process
