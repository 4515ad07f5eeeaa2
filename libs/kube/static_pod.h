#pragma once

/// Turns a manifest into a pod of this node: sets its identity, and refuses forbidden fields. Any
/// thread.
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
  std::string identity{};    // base of the UID if it differs from `location`: the whole URL
  bool has_objects = false;  // config maps and secrets for variables exist without an API server
  GatesOff gates_off{};      // passed to the decoder
};

/// Sets metadata.uid unless the manifest has one: a hash of its origin and of the pod without
/// defaults. See docs/decisions/static-pod-uid.md.
void EnsureStaticUid(Pod& pod, const StaticPodOrigin& origin);

/// Sets UID, name with node, namespace, node name, annotation config.hash, toleration, phase. `pod`
/// already has its UID, computed before its defaults.
void ApplyStaticIdentity(Pod& pod, const StaticPodOrigin& origin);

/// Refuses references to objects of an API server: "static pods may not reference secrets".
/// `has_objects`: config maps and secrets for variables exist without a server.
Status CheckStaticReferences(const Pod& pod, bool has_objects);

/// All steps from a decoded manifest to a pod that can run: UID, defaults, a name, identity,
/// validation, references.
Status CompleteStaticPod(Pod& pod, const StaticPodOrigin& origin);

/// FNV-1a of 128 bits, as 32 hex digits.
std::string HexHash128(std::string_view text);

}  // namespace splitlet::kube
