#pragma once

/// The id of an EBS volume in a Kubernetes volumeID: "vol-1" itself, or the path of a URL such as
/// "aws://us-east-1a/vol-1".
/// Threads: a pure function, any.
/// Errors: INVALID_ARGUMENT with the kubelet's text.
/// Source: kubelet csi-translation-lib, KubernetesVolumeIDToEBSVolumeID; Go's net/url.

#include <string>

#include "libs/base/status.h"

namespace splitlet::csi {

StatusOr<std::string> EbsVolumeId(const std::string& kubernetes_id);

}  // namespace splitlet::csi
