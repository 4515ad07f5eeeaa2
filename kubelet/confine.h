#pragma once

/// What the processes of a stack may do that all run as root: each loses the capabilities that it
/// has no use for, as the units of the package give it none.
/// Threads: ConfinementOf is pure; Confine changes the calling process, which has one thread.
/// Errors:  of the kernel, with what was tried.
/// Source:  capabilities(7); deploy/README.md.

#include <optional>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::kubelet {

struct Confinement {
  /// Capabilities that a program of root has after exec; none: all of them, for those that need
  /// root, which start other programs with what these need.
  std::optional<std::vector<int>> capabilities = std::nullopt;
  std::optional<int> oom_score = std::nullopt;  // none: as it is
};

/// Of a process of the stack, or of nats.
Confinement ConfinementOf(std::string_view name);

/// Of this process, before exec. A user who is not root has nothing to give up, and may not lower
/// its score.
Status Confine(const Confinement& confinement);

}  // namespace splitlet::kubelet
