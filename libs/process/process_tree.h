#pragma once

/// Processes of this machine, found by their command line, and what came from them.
/// Threads: any.
/// Errors: none; a process that ends meanwhile is left out.

#include <sys/types.h>

#include <string>
#include <vector>

namespace splitlet::process {

/// Those whose command line has all of these parts.
std::vector<pid_t> PidsWith(const std::vector<std::string>& parts);

/// SIGKILL for these and all that came from them.
void KillTrees(const std::vector<pid_t>& roots);

}  // namespace splitlet::process
