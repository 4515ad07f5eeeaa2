#pragma once

/// Where the kernel mounts cgroups on this machine, and which version pods use. Read once at start.
/// A machine with both (hybrid) counts as version 1.
/// Threads: values and pure functions, any.
/// Errors:  FAILED_PRECONDITION: no whole hierarchy is mounted.
/// Source:  docs/behaviour/cgroups.md, "The tree"; proc(5).

#include <map>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/cgroup/values.h"

namespace splitlet::cgroup {

struct Layout {
  Version version = Version::kV2;
  /// Version 1: controller ("memory", "systemd" for the named one, "unified" for version 2 beside
  /// them) -> mount point; several may be mounted together. Version 2: "" -> mount point.
  std::map<std::string, std::string> mounts;
};

/// Reads the text of /proc/self/mountinfo. Ignores mounts that show only a part of a hierarchy, as
/// in containers.
StatusOr<Layout> ParseLayout(std::string_view mountinfo);

}  // namespace splitlet::cgroup
