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

/// Parts of a status that a server does not keep as they were sent, since it does not know them
/// yet, or has them switched off. Sent again they would be a change in each round, and a write of
/// the server's for nothing.
struct Unkept {
  bool declared_features = false, runtime_handlers = false, features = false, swap = false;

  /// `stored`: what the server has made of `sent`.
  static Unkept In(const kube::Node& sent, const kube::Node& stored);
  Unkept operator|(const Unkept& other) const;
  /// These parts of `node` become what `stored` has of them.
  void LeaveAsIn(const kube::Node& stored, kube::Node& node) const;
};

}  // namespace splitlet::status
