#pragma once

/// What a pod may learn of itself and of its node: for variables and for files of volumes.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT, and UNAVAILABLE while an address is not known; in a kubelet's words.
/// Source:  docs/behaviour/runtime-config.md, "Environment and
///          command"; kubelet podFieldSelectorRuntimeValue.

#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/runtime_config/node_info.h"

namespace k8s::io::api::core::v1 {
class ResourceFieldSelector;
}

namespace splitlet::pod_worker {

struct DownwardInput {
  const kube::Pod& pod;
  const NodeInfo& node;
  const PodAddresses& ips;
  const kube::Container* container = nullptr;  // that a selector without a name means; null: none
};

/// Of a path as "metadata.labels['app']".
StatusOr<std::string> FieldValue(const std::string& path, const DownwardInput& in);

/// In units of the divisor, rounded up. A missing limit is the pod's, else the node's.
StatusOr<std::string> ResourceValue(const k8s::io::api::core::v1::ResourceFieldSelector& selector,
                                    const DownwardInput& in);

}  // namespace splitlet::pod_worker
