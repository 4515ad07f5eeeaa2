#pragma once

/// What variables of a container take from config maps and secrets.
/// Threads: pure but for the source, any.
/// Errors:  INVALID_ARGUMENT in a kubelet's words: object or key is missing, and not optional; or a
///          value is no text, which a variable has to be. Never what a secret holds.
/// Source:  docs/behaviour/objects.md, "Variables"; kubelet makeEnvironmentVariables.

#include <map>
#include <optional>
#include <string>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"

namespace k8s::io::api::core::v1 {
class EnvFromSource;
class EnvVarSource;
}  // namespace k8s::io::api::core::v1

namespace splitlet::pod_worker {

/// For a configMapKeyRef or secretKeyRef. Unset: it is left out.
StatusOr<std::optional<std::string>> ValueFromObject(
    const k8s::io::api::core::v1::EnvVarSource& from, const std::string& name_space,
    const ObjectSource& objects);

/// All of an object, names with the prefix.
StatusOr<std::map<std::string, std::string>> ValuesFromObject(
    const k8s::io::api::core::v1::EnvFromSource& from, const std::string& name_space,
    const ObjectSource& objects);

}  // namespace splitlet::pod_worker
