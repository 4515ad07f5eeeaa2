#pragma once

/// What a sandbox and its containers may do: users, groups, capabilities, profiles, masked paths.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT with the text of the waiting message.
/// Source:  docs/behaviour/runtime-config.md, "Security context"; docs/safety.md, rule 29.

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace runtime::v1 {
class LinuxContainerSecurityContext;
class PodSandboxConfig;
}  // namespace runtime::v1

namespace splitlet::pod_worker {

struct ContainerInput;

/// Without a runAsUser the container runs as the image's user, with the groups that the runtime's
/// image gives that user, and that user decides whether runAsNonRoot holds.
bool NeedsImageUser(const kube::Pod& pod, const kube::Container& container);

Status SetSecurityContext(const ContainerInput& input,
                          runtime::v1::LinuxContainerSecurityContext& out);
void SetSandboxSecurity(const kube::Pod& pod, runtime::v1::PodSandboxConfig& out);

}  // namespace splitlet::pod_worker
