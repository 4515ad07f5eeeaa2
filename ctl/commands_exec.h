#pragma once

/// `exec`: runs a command in a container of this node. pod-worker has the runtime open a stream;
/// its bytes do not pass through splitlet.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1. Else the exit code is the command's.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

struct ExecOptions {
  std::string pod, container, name_space;
  std::vector<std::string> command;
  bool input = false, tty = false;
};
Status Exec(const operate::Context& context, const ExecOptions& options);

/// Id of the container, without the runtime's name, when something can run in it.
StatusOr<std::string> FindRunning(const operate::PodView& view, const std::string& container);

}  // namespace splitlet::ctl
