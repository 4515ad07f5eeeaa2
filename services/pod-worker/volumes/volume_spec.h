#pragma once

/// A volume as a pod names it, with what stands behind its claim: all that a plugin goes by.
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
  const kube::Volume& volume;                        // of the pod, which outlives this
  ObjectPtr<Claim> claim = nullptr;                  // that it names, or that was made for it
  ObjectPtr<PersistentVolume> persistent = nullptr;  // to which the claim is bound

  /// Of its directory: the persistent volume's, or else what the pod calls it.
  const std::string& name() const;
  /// What the pod says itself: of a claim no more than that.
  const VolumeSource& own() const;
  /// Of the persistent volume; null: there is none.
  const PersistentVolumeSource* source() const;
  /// "nfs", as the API names it.
  std::string kind() const;
  /// Asked for where the pod names the claim.
  bool read_only() const;
  /// Wanted of the persistent volume, as mount(8) takes them, and "ReadWriteOnce" and the like.
  std::vector<std::string> mount_options() const;
  std::vector<std::string> access_modes() const;
  bool is_block() const;  // volumeMode
  /// That the persistent volume's annotation pv.beta.kubernetes.io/gid names: who uses the volume
  /// has to have it. Unset: none, or what is there is no group.
  std::optional<int64_t> group() const;
};

}  // namespace splitlet::pod_worker
