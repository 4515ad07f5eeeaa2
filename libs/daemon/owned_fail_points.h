#pragma once

/// Which fail points a process can reach; the one program has the sites of all. Any thread.
/// Source: docs/fail-points.md; docs/decisions/one-program.md.

#include <string_view>

namespace splitlet::daemon {

/// Of itself, and of the libraries that it uses; a name that nobody knows is its own.
bool OwnsFailPoint(std::string_view process, std::string_view point);

}  // namespace splitlet::daemon
