#pragma once

/// The downward API: fields of a pod and of its node, for variables and for files of volumes.
/// Threads: pure functions, any.
/// Errors:  in a kubelet's words; UNAVAILABLE while an address is not known.
/// Source:  docs/behaviour/runtime-config.md, "Environment and
///          command"; kubelet podFieldSelectorRuntimeValue.

#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/node_info.h"

namespace k8s::io::api::core::v1 {
class ResourceFieldSelector;
}

namespace splitlet::pod_worker {

struct DownwardInput {
  const kube::Pod& pod;
  const NodeInfo& node;
  const PodAddresses& ips;
  const kube::Container* container = nullptr;  // for a selector without a name; null: none
};

/// `path`: "metadata.labels['app']".
StatusOr<std::string> FieldValue(const std::string& path, const DownwardInput& in);

/// In units of the divisor, rounded up. Without a limit of the container the pod's counts, and
/// without that the node's.
StatusOr<std::string> ResourceValue(const k8s::io::api::core::v1::ResourceFieldSelector& selector,
                                    const DownwardInput& in);

}  // namespace splitlet::pod_worker
