#pragma once

/// The secret that a driver is sent with a call, read for each call.
/// Threads: pure functions, any.
/// Errors:  the kubelet's texts, without content of the secret.
/// Source:  kubelet csi_util getCredentialsFromSecret.

#include <string_view>

#include "libs/csi/string_map.h"
#include "libs/csi/volume.h"
#include "services/pod-worker/objects/csi_objects.h"

namespace splitlet::pod_worker {

/// `field`: "NodeStageSecretRef".
StatusOr<csi::StringMap> SecretFor(std::string_view field, const csi::SecretName& name,
                                   const StatusOr<ObjectPtr<Secret>>& read);

}  // namespace splitlet::pod_worker
