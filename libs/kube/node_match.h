#pragma once

/// Matches a node with a pod's node selector, node affinity and tolerations, or with the node
/// affinity of a persistent volume.
/// Threads: pure functions, any.
/// Errors: none; a nonsensical requirement matches nothing.
/// Source: docs/behaviour/admission.md, "The checks"; Kubernetes API, NodeSelectorTerm and
/// Toleration.

#include <map>
#include <string>

#include "libs/kube/pod_types.h"

namespace k8s::io::api::core::v1 {
class NodeSelector;
class Toleration;
}  // namespace k8s::io::api::core::v1

namespace splitlet::kube {

using Labels = std::map<std::string, std::string>;

struct Taint {
  std::string key, value, effect;
};

/// True if the node matches the node selector and the required part of the node affinity.
bool MatchesNode(const PodSpec& spec, const Labels& labels, const std::string& node_name);

/// True if one of the terms matches.
bool MatchesNode(const k8s::io::api::core::v1::NodeSelector& selector, const Labels& labels,
                 const std::string& node_name);

bool Tolerates(const PodSpec& spec, const Taint& taint);

}  // namespace splitlet::kube
