#pragma once

/// Processes of this machine by command line, and their descendants.
/// Threads: any.
/// Errors: none; a process that ends during the call is left out.

#include <sys/types.h>

#include <string>
#include <vector>

namespace splitlet::process {

/// Processes whose command line contains all parts.
std::vector<pid_t> PidsWith(const std::vector<std::string>& parts);

/// Sends SIGKILL to these processes and all descendants.
void KillTrees(const std::vector<pid_t>& roots);

}  // namespace splitlet::process
