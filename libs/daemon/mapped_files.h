#pragma once

/// Pages of code and constants that a process has mapped from its program and libraries. The kernel
/// maps the neighbours of each page that is touched, and the start touches most pages, so a running
/// process has far more mapped than it needs.
/// Threads: any.

namespace splitlet::daemon {

/// Unmaps all read-only pages of files. The process maps the pages that it touches again, from the
/// page cache.
void ForgetPagesOfFiles();

}  // namespace splitlet::daemon
