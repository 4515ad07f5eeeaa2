#pragma once

/// Fail points that a process can reach; the one program contains those of all processes. Any
/// thread.
/// Source: docs/fail-points.md; docs/decisions/one-program.md.

#include <string_view>

namespace splitlet::daemon {

/// True for the process's own points, those of its libraries, and unknown names.
bool OwnsFailPoint(std::string_view process, std::string_view point);

}  // namespace splitlet::daemon
