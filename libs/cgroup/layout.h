#pragma once

/// Where the kernel shows cgroups on this machine, and which version pods live in. Found once at
/// start. A machine with both (hybrid) counts as version 1.
/// Threads: values and pure functions, any.
/// Errors:  FAILED_PRECONDITION where no whole hierarchy is mounted.
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

/// From the text of /proc/self/mountinfo. A mount that shows a part of a hierarchy only, as
/// containers have it, does not count.
StatusOr<Layout> ParseLayout(std::string_view mountinfo);

}  // namespace splitlet::cgroup
