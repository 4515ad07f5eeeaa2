#pragma once

/// Fields of a pod that this version ignores although the pod runs. An event names them, so that no
/// reader takes them for carried out. What keeps a pod from running fails with an event of its own
/// and is not named here.
/// Threads: pure function, any.
/// Errors:  none.
/// Source:  services/pod-worker/README.md.

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// The fields, for people; empty when nothing is passed over.
std::string UnsupportedFields(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
