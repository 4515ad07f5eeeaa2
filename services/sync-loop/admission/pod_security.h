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
  bool user_namespaces = false;  // of the default handler
};

bool AsksForStrictGroups(const kube::Pod& pod);
/// Some container shall run under a profile.
bool AsksForAppArmor(const kube::Pod& pod);
bool AsksForUserNamespace(const kube::Pod& pod);
/// It cannot be decided before the node's abilities are known.
bool AsksForAbilities(const kube::Pod& pod);

/// Why a pod that asks for a user namespace gets none. This version maps no ids, whatever the
/// runtime can do.
std::string WhyNoUserNamespace(const NodeAbilities& abilities);

}  // namespace splitlet::sync_loop
