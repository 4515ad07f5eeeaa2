#pragma once

/// Turns a manifest into a pod of this node: its identity, and forbidden fields. Any thread.
/// Errors: INVALID_ARGUMENT, with the path of the field.
/// Source: docs/behaviour/manifests.md, "Static pods".

#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/kube/gated_fields.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

struct StaticPodOrigin {
  std::string source;  // kFileSource or kHttpSource
  std::string node_name;
  std::string location;      // path of the manifest, or URL without its secrets
  std::string identity{};    // what the UID rests on where that is more: the whole URL
  bool has_objects = false;  // variables may come from config maps and secrets
  GatesOff gates_off{};      // for the decoder
};

/// metadata.uid, unless the manifest gives one: a hash of the pod as it stands, which is before its
/// defaults, and of its origin. See docs/decisions/static-pod-uid.md.
void EnsureStaticUid(Pod& pod, const StaticPodOrigin& origin);

/// UID, name with node, namespace, node name, annotation config.hash, toleration, phase. `pod` has
/// its defaults already, and its UID from before them.
void ApplyStaticIdentity(Pod& pod, const StaticPodOrigin& origin);

/// "static pods may not reference secrets", and the like: objects that only an API server has.
/// `has_objects`: for variables there are config maps and secrets without one.
Status CheckStaticReferences(const Pod& pod, bool has_objects);

/// All that stands between a decoded manifest and a pod to run, in this order: UID, defaults, a
/// name, identity, validation, references.
Status CompleteStaticPod(Pod& pod, const StaticPodOrigin& origin);

/// 32 hex digits, FNV-1a of 128 bits.
std::string HexHash128(std::string_view text);

}  // namespace splitlet::kube
