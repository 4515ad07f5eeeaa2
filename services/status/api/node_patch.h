#pragma once

/// What differs between two versions of a node, as the strategic merge patch of its status that a
/// kubelet sends: labels, annotations and status, never the spec, and no resource version.
/// Threads: any; pure.
/// Errors: none.
/// Source: Kubernetes API conventions, strategic merge patch; kubelet nodeutil.PatchNodeStatus.

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::status {

struct NodePatch {
  std::string json;      // empty: nothing differs
  bool changed = false;  // something differs beside the times of heartbeats
};

NodePatch MakeNodePatch(const kube::Node& before, const kube::Node& after);

}  // namespace splitlet::status
