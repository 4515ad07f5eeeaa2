#pragma once

/// Whether a pod has its own user namespace. Any thread.
/// Source: docs/behaviour/runtime-config.md, "User namespaces".

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// True for `hostUsers: false`; by default a pod uses the host's.
inline bool HasUserNamespace(const PodSpec& spec) {
  return spec.has_host_users() && !spec.host_users();
}

}  // namespace splitlet::kube
