#pragma once

/// Which container's log is meant by a name: the one that runs, the last that has ended, or with
/// `previous` the one before.
/// Threads: any.
/// Errors: NOT_FOUND without such a container; FAILED_PRECONDITION in a kubelet's words when it has
/// written nothing yet, or did not run before.
/// Source: docs/behaviour/logs.md, "Which container".

#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::logs {

struct ChosenContainer {
  std::string id;  // as the API shows it: "containerd://..."
  bool running = false;
};
StatusOr<ChosenContainer> ChooseContainer(const kube::Pod& pod, const std::string& container,
                                          bool previous);

}  // namespace splitlet::logs
