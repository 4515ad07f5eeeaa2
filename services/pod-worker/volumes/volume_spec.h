#pragma once

/// A volume of a pod, with the claim and the persistent volume behind it: the input of a plugin.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/volumes.md, "Plugins"; kubelet volume.Spec.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"

namespace k8s::io::api::core::v1 {
class PersistentVolumeSource;
class VolumeSource;
}  // namespace k8s::io::api::core::v1

namespace splitlet::pod_worker {

using VolumeSource = k8s::io::api::core::v1::VolumeSource;
using PersistentVolumeSource = k8s::io::api::core::v1::PersistentVolumeSource;

struct VolumeSpec {
  const kube::Volume& volume;                        // of the pod, which outlives the spec
  ObjectPtr<Claim> claim = nullptr;                  // null: the volume has no claim
  ObjectPtr<PersistentVolume> persistent = nullptr;  // the claim's; null: without claim

  /// The name of its directory: the persistent volume's, else the pod's name for the volume.
  const std::string& name() const;
  /// The source in the pod's spec, which may be a claim.
  const VolumeSource& own() const;
  /// The source of the persistent volume; null: there is none.
  const PersistentVolumeSource* source() const;
  /// The API's name of the source: "nfs".
  std::string kind() const;
  /// The pod's reference to the claim is read-only.
  bool read_only() const;
  /// Of the persistent volume: options of mount(8), and modes like "ReadWriteOnce".
  std::vector<std::string> mount_options() const;
  std::vector<std::string> access_modes() const;
  bool is_block() const;  // volumeMode
  /// The group in the persistent volume's annotation pv.beta.kubernetes.io/gid, which all
  /// containers of the pod get. Unset: the annotation is missing or not a group id.
  std::optional<int64_t> group() const;
};

}  // namespace splitlet::pod_worker
