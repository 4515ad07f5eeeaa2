#pragma once

/// Whether a pod asks for a user namespace of its own. Any thread.
/// Source: docs/behaviour/runtime-config.md, "User namespaces".

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// `hostUsers: false`; without the field a pod has the host's.
inline bool HasUserNamespace(const PodSpec& spec) {
  return spec.has_host_users() && !spec.host_users();
}

}  // namespace splitlet::kube
