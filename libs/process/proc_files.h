#pragma once

/// What /proc says of the processes of this machine.
/// Threads: any.
/// Errors:  none; a process that has ended is left out, and its files are empty.
/// Source:  proc(5).

#include <sys/types.h>

#include <string>
#include <vector>

namespace splitlet::process {

inline constexpr const char* kProc = "/proc";

/// `proc`: kProc, or a test's.
std::vector<pid_t> AllPids(const std::string& proc = kProc);

/// The text of /proc/<pid>/<name>. Of its memory, as "environ" and "cmdline" are, only of a process
/// that is trusted: it may have put a file there whose server hangs, and so does who reads it.
std::string ReadProcFile(pid_t pid, const std::string& name, const std::string& proc = kProc);

/// It is of this process's user and namespace of process ids, and so of no container that has a
/// namespace of its own. Reads nothing of its memory.
bool IsOfOurNamespaceAndUser(pid_t pid, const std::string& proc = kProc);

}  // namespace splitlet::process
