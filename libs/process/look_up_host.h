#pragma once

/// The addresses that a host's name has on this machine: its hosts file, DNS, whatever its resolver
/// is set up for. Asked by getent, since the resolver within a process cannot be given up.
/// Threads: any; the call blocks, for two seconds at most.
/// Errors:  NOT_FOUND for a name without addresses; those of RunProgram.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/process/run_program.h"

namespace splitlet::process {

/// In the resolver's order, each once.
StatusOr<std::vector<std::string>> LookUpHost(const ProgramRunner& run, const std::string& name);

}  // namespace splitlet::process
