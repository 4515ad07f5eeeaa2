#pragma once

/// In-tree volumes of clouds as volumes of their CSI drivers: no plugin on the node mounts them any
/// more. A translated volume is then treated as any other CSI volume.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT with the kubelet's text.
/// Source: kubelet csi-translation-lib.

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"

namespace k8s::io::api::core::v1 {
class PersistentVolume;
class PersistentVolumeSource;
class Volume;
class VolumeSource;
}  // namespace k8s::io::api::core::v1

namespace splitlet::csi {

using PersistentVolumeObject = k8s::io::api::core::v1::PersistentVolume;

struct InTreePlugin {
  std::string_view name;    // "kubernetes.io/aws-ebs"
  std::string_view driver;  // "ebs.csi.aws.com"
};
const std::vector<InTreePlugin>& InTreePlugins();

bool IsTranslated(const k8s::io::api::core::v1::PersistentVolumeSource& source);
bool IsTranslated(const k8s::io::api::core::v1::VolumeSource& source);

/// The same persistent volume with a csi source, and with its node affinity for the driver's keys.
StatusOr<PersistentVolumeObject> TranslatePersistentVolume(
    const PersistentVolumeObject& persistent);

/// A persistent volume that no API server has, for a source in a pod's spec.
StatusOr<PersistentVolumeObject> TranslateInline(const k8s::io::api::core::v1::Volume& volume,
                                                 const std::string& pod_namespace);

}  // namespace splitlet::csi
