#pragma once

/// Chooses the container of a given name whose log to read: the running one, else the last ended
/// one; with `previous` the one before.
/// Threads: any.
/// Errors: NOT_FOUND: no such container; FAILED_PRECONDITION, in a kubelet's words: it has no log
/// yet, or did not run before.
/// Source: docs/behaviour/logs.md, "Which container".

#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::logs {

struct ChosenContainer {
  std::string id;  // as in the API: "containerd://..."
  bool running = false;
};
StatusOr<ChosenContainer> ChooseContainer(const kube::Pod& pod, const std::string& container,
                                          bool previous);

}  // namespace splitlet::logs
