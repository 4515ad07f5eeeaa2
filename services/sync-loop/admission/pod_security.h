#pragma once

/// The isolation that a pod asks the host and the runtime to enforce. rules.h refuses a pod that
/// the node cannot isolate, so no pod runs with less isolation than it asks for. Reasons and
/// messages are the kubelet's where it has any.
/// Threads: pure functions, any.
/// Errors: none.
/// Source: docs/safety.md, rule 29; docs/behaviour/admission.md, "The checks".

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::sync_loop {

/// The features in the node's record.
struct NodeAbilities {
  bool known = false;  // false: the runtime has not answered yet
  bool strict_groups = false;
  bool apparmor = false;
  /// Whether handlers of the runtime have a feature. Only pod-worker knows the handler of a runtime
  /// class, and refuses a sandbox whose handler lacks the feature.
  struct Handlers {
    bool first = false, any = false;  // the default handler; some handler
  };
  Handlers user_namespaces;
};

bool AsksForStrictGroups(const kube::Pod& pod);
/// Some container is to run under a profile.
bool AsksForAppArmor(const kube::Pod& pod);
/// The pod cannot be decided before the node's abilities are known.
bool AsksForAbilities(const kube::Pod& pod);

/// The pod's handler has the ability, or may have it.
bool MayHave(const NodeAbilities::Handlers& handlers, const kube::Pod& pod);

}  // namespace splitlet::sync_loop
