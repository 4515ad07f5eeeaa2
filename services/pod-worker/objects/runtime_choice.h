#pragma once

/// The handler and the overhead that a pod's runtime class gives its sandbox.
/// Threads: pure, any.
/// Errors:  NOT_FOUND and UNAVAILABLE of the class. FAILED_PRECONDITION: the overhead of the pod
///          differs from that of its class.
/// Source:  docs/behaviour/objects.md, "Runtime classes".

#include <map>
#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

struct RuntimeChoice {
  std::string handler;                          // empty: the runtime's own
  std::map<std::string, std::string> overhead;  // of the class, by resource; empty: none
};
/// `objects` may be null: this node has none.
StatusOr<RuntimeChoice> ChooseRuntime(const kube::Pod& pod, const ObjectSource* objects);

}  // namespace splitlet::pod_worker
