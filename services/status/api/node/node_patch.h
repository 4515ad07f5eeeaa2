#pragma once

/// Makes the strategic merge patch between two versions of a Node, as a kubelet sends it to the
/// status subresource: labels, annotations and status, never the spec or a resource version.
/// Threads: any; pure.
/// Errors: none.
/// Source: Kubernetes API conventions, strategic merge patch; kubelet nodeutil.PatchNodeStatus.

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::status {

struct NodePatch {
  std::string json;      // empty: nothing differs
  bool changed = false;  // more than heartbeat times differs
};

NodePatch MakeNodePatch(const kube::Node& before, const kube::Node& after);

/// Fields of a status that a server drops or changes, because it does not know them yet or has
/// their feature gate off. If they were sent again, each round would be a change, and a useless
/// write.
struct Unkept {
  bool declared_features = false, runtime_handlers = false, features = false, swap = false;

  /// `stored`: the server's answer to `sent`.
  static Unkept In(const kube::Node& sent, const kube::Node& stored);
  Unkept operator|(const Unkept& other) const;
  /// Sets these fields of `node` to those of `stored`.
  void LeaveAsIn(const kube::Node& stored, kube::Node& node) const;
};

}  // namespace splitlet::status
