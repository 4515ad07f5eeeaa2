#pragma once

/// The security contexts of sandboxes and containers: users, groups, capabilities, profiles, masked
/// paths.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT with the text of the waiting message.
/// Source:  docs/behaviour/runtime-config.md, "Security context"; docs/safety.md, rule 29.

#include <string>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/runtime_config/isolation.h"

namespace runtime::v1 {
class ContainerConfig;
class LinuxContainerSecurityContext;
class PodSandboxConfig;
}  // namespace runtime::v1

namespace splitlet::pod_worker {

struct ContainerInput;

/// True without runAsUser: the container runs as the image's user, and that user decides whether
/// runAsNonRoot holds.
bool NeedsImageUser(const kube::Pod& pod, const kube::Container& container);

/// The host's file of a Localhost seccomp profile; empty: the container names none.
std::string SeccompFileOf(const ContainerInput& input);

/// Maps each mount like the pod. So a file that a container writes to a volume belongs there to the
/// user inside the container, as for a pod without a user namespace.
void MapMounts(const Isolation& isolation, runtime::v1::ContainerConfig& out);

Status SetSecurityContext(const ContainerInput& input,
                          runtime::v1::LinuxContainerSecurityContext& out);
void SetSandboxSecurity(const kube::Pod& pod, const Isolation& isolation,
                        runtime::v1::PodSandboxConfig& out);

}  // namespace splitlet::pod_worker
