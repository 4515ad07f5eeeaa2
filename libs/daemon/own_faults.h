#pragma once

/// Which fail points a process can reach. All processes are one program, so that each has the sites
/// of all in it. Threads: any. Errors: none. Source: docs/fail-points.md.

#include <string_view>

namespace splitlet::daemon {

/// Of itself, and of the libraries that it uses; a name that nobody knows is its own.
bool IsOwnFault(std::string_view process, std::string_view point);

}  // namespace splitlet::daemon
