#pragma once

/// `exec` and `attach`: run a command in a container of this node, or show the container's further
/// output. pod-worker has the runtime open a stream; its bytes do not pass through splitlet.
/// Threads: the main one.
/// Errors: printed by main as one line; exit code 1. Otherwise the exit code is the command's; that
/// of `attach` is 0 when the container has ended.

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/operate/command_line.h"
#include "libs/operate/pod_view.h"

namespace splitlet::ctl {

struct ExecOptions {
  std::string pod, container, name_space;
  std::vector<std::string> command;  // behind "--"; none for Attach
  std::vector<std::string> words;    // arguments between the pod and "--", which are an error
  bool input = false, tty = false;
};
Status Exec(const operate::Context& context, const ExecOptions& options);
Status Attach(const operate::Context& context, const ExecOptions& options);

/// Id of the running container, without the runtime's name. `verb`: for the error.
StatusOr<std::string> FindRunning(const operate::PodView& view, const std::string& container,
                                  std::string_view verb);
/// The container's spec sets tty: attach cannot choose.
bool HasTerminal(const kube::Pod& pod, const std::string& container);

}  // namespace splitlet::ctl
