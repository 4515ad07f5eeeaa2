#pragma once

/// What /proc says of the processes of this machine.
/// Threads: any.
/// Errors:  none; a process that has ended is left out, and its files are empty.
/// Source:  proc(5).

#include <sys/types.h>

#include <string>
#include <vector>

namespace splitlet::process {

std::vector<pid_t> AllPids();

/// The text of /proc/<pid>/<name>.
std::string ReadProcFile(pid_t pid, const std::string& name);

}  // namespace splitlet::process
