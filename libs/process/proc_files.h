#pragma once

/// Processes of this machine as /proc shows them.
/// Threads: any.
/// Errors:  none; ended processes are left out, and their files are empty.
/// Source:  proc(5).

#include <sys/types.h>

#include <string>
#include <vector>

namespace splitlet::process {

inline constexpr const char* kProc = "/proc";

/// `proc` is kProc, or a test's folder.
std::vector<pid_t> AllPids(const std::string& proc = kProc);

/// The text of /proc/<pid>/<name>. Read files backed by the process's memory ("environ", "cmdline")
/// only of trusted processes: a page may belong to a file whose server hangs, and then the reader
/// hangs too.
std::string ReadProcFile(pid_t pid, const std::string& name, const std::string& proc = kProc);

/// True if the process has this process's user and pid namespace, and so is in no container with
/// its own. Reads nothing of its memory.
bool IsOfOurNamespaceAndUser(pid_t pid, const std::string& proc = kProc);

}  // namespace splitlet::process
