#pragma once

/// Code and constants that a process has mapped from its program and libraries. The kernel maps
/// the pages around each one that is touched, and the start touches most of them, so that far more
/// is mapped than what a running process needs.
/// Threads: any.

namespace splitlet::daemon {

/// Unmaps all of them that are never written to. What is needed is mapped again as it is touched,
/// from the cache of the file.
void ForgetPagesOfFiles();

}  // namespace splitlet::daemon
