#pragma once

/// What a pod asks for that this version passes over although the pod runs: a reader of its events
/// must not take what is passed over for what is done. What keeps a pod from running
/// fails with an event of its own and is not named here.
/// Threads: pure function, any.
/// Errors:  none.
/// Source:  services/pod-worker/README.md.

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// The fields, for people; empty when nothing is passed over.
std::string UnsupportedFields(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
