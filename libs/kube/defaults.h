#pragma once

/// The API server's defaults of a pod. Any thread.
/// Errors: INVALID_ARGUMENT, with the path of the field.
/// Source: docs/behaviour/manifests.md, "Defaults".

#include <string_view>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// Sets defaults of the pod, its containers and its volumes, then applies the fix-ups of the
/// conversion to the internal type. Idempotent.
Status ApplyDefaults(Pod& pod);

/// "Always" for no tag or `latest` without a digest, else "IfNotPresent".
std::string_view DefaultPullPolicy(std::string_view image);

}  // namespace splitlet::kube
