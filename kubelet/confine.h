#pragma once

/// Privileges of the processes of a stack, which all run as root: each process drops the
/// capabilities that it does not need, as the units of the package do.
/// Threads: ConfinementOf is pure; Confine changes the calling process, which has one thread.
/// Errors:  of the kernel, with what was tried.
/// Source:  capabilities(7); deploy/README.md.

#include <optional>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::kubelet {

struct Confinement {
  /// Capabilities that a program of root has after exec; nullopt: all. pod-worker, gc and nats need
  /// all, for the programs that they start.
  std::optional<std::vector<int>> capabilities = std::nullopt;
  std::optional<int> oom_score = std::nullopt;  // nullopt: unchanged
};

/// `name`: a process of the stack, or nats.
Confinement ConfinementOf(std::string_view name);

/// Confines this process, before exec. Does nothing but no_new_privs for a user who is not root.
Status Confine(const Confinement& confinement);

}  // namespace splitlet::kubelet
