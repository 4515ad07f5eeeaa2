#pragma once

/// A volume of a CSI driver as one pod wants it.
/// Threads: values and pure functions, any.
/// Errors:  INVALID_ARGUMENT: a driver or handle that cannot be used.
/// Source:  docs/behaviour/volumes.md, "CSI".

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/csi/requests.h"
#include "libs/csi/volume.h"
#include "services/pod-worker/volumes/volume_plugin.h"
#include "services/pod-worker/volumes/volume_spec.h"

namespace splitlet::pod_worker {

struct PodVolumeKey {
  std::string pod_uid;
  std::string directory;  // name of the volume's directory
  auto operator<=>(const PodVolumeKey&) const = default;
};
PodVolumeKey KeyOf(const VolumePlace& place);

struct Wish {
  csi::Volume volume;
  std::string directory;  // path: "<pod>/volumes/kubernetes.io~csi/<name>"
  bool read_only = false;
  std::optional<uint32_t> fs_group;
  bool only_if_other_group = false;  // fsGroupChangePolicy: OnRootMismatch
  csi::PodInfo pod;
};
/// `spec` has a csi source, its own or that of its persistent volume.
StatusOr<Wish> WishOf(const VolumeSpec& spec, const kube::Pod& pod, const VolumePlace& place);

/// "<directory>/mount".
std::string TargetOf(const std::string& directory);

/// The spec with a persistent volume of the driver in place of a volume that is a part of the tree;
/// other specs as they are.
StatusOr<VolumeSpec> Translated(VolumeSpec spec, const std::string& pod_namespace);

}  // namespace splitlet::pod_worker
