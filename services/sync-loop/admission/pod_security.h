#pragma once

/// What a pod asks the host and the runtime to enforce, and the refusal when they cannot: decided
/// once, here, so that nothing runs with less isolation than it asked for. Reasons and messages are
/// the kubelet's where it has any.
/// Threads: pure functions, any.
/// Errors: none.
/// Source: docs/safety.md, rule 29; docs/behaviour/admission.md, "The checks".

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::sync_loop {

/// What the node can enforce, as its record says.
struct NodeAbilities {
  bool known = false;  // false: the runtime has not been asked yet
  bool strict_groups = false;
  bool apparmor = false;
  /// Of the runtime's handlers. Which one a runtime class means is not known here: pod-worker
  /// refuses a sandbox whose own handler cannot.
  struct Handlers {
    bool first = false, any = false;  // the default one; some one
  };
  Handlers user_namespaces;
};

bool AsksForStrictGroups(const kube::Pod& pod);
/// Some container shall run under a profile.
bool AsksForAppArmor(const kube::Pod& pod);
/// It cannot be decided before the node's abilities are known.
bool AsksForAbilities(const kube::Pod& pod);

/// The pod's handler has an ability, or may have it.
bool MayHave(const NodeAbilities::Handlers& handlers, const kube::Pod& pod);

}  // namespace splitlet::sync_loop
