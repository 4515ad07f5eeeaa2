#pragma once

/// The values that a container's variables take from config maps and secrets.
/// Threads: pure but for the source, any.
/// Errors:  INVALID_ARGUMENT in a kubelet's words: a required object or key is missing, or a value
///          is not text. Never quotes a secret.
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

/// For a configMapKeyRef or secretKeyRef. Unset: an optional value is missing.
StatusOr<std::optional<std::string>> ValueFromObject(
    const k8s::io::api::core::v1::EnvVarSource& from, const std::string& name_space,
    const ObjectSource& objects);

/// All values of an object; the prefix goes before each key.
StatusOr<std::map<std::string, std::string>> ValuesFromObject(
    const k8s::io::api::core::v1::EnvFromSource& from, const std::string& name_space,
    const ObjectSource& objects);

}  // namespace splitlet::pod_worker
