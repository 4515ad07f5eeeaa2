#pragma once

/// A volume for its driver, whether a persistent volume or the pod's own spec defines it.
/// Threads: values and pure functions, any.
/// Errors: INVALID_ARGUMENT: no csi source, or a driver or handle that cannot be used.
/// Source: Kubernetes API, CSIPersistentVolumeSource and CSIVolumeSource.

#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/csi/string_map.h"
#include "libs/csi/vol_data.h"

namespace k8s::io::api::core::v1 {
class CSIVolumeSource;
class PersistentVolume;
}  // namespace k8s::io::api::core::v1

namespace splitlet::csi {

struct SecretName {
  std::string namespace_, name;
  bool operator==(const SecretName&) const = default;
};

struct Volume {
  std::string driver, handle;
  std::string spec;     // name of the persistent volume, or the pod's name for an inline volume
  std::string fs_type;  // empty: the driver chooses
  StringMap attributes;
  std::vector<std::string> access_modes;   // as the persistent volume has them; inline: none
  std::vector<std::string> mount_options;  // inline: none
  bool block = false;
  Lifecycle lifecycle = Lifecycle::kPersistent;
  std::optional<SecretName> stage_secret, publish_secret, expand_secret;
};

StatusOr<Volume> FromPersistentVolume(const k8s::io::api::core::v1::PersistentVolume& persistent);

struct InlineOwner {
  std::string pod_uid, pod_namespace;
  std::string volume_name;  // in the pod's spec
};
StatusOr<Volume> FromInlineVolume(const k8s::io::api::core::v1::CSIVolumeSource& source,
                                  const InlineOwner& owner);

}  // namespace splitlet::csi
