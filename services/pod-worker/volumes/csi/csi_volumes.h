#pragma once

/// The plugin for volumes of CSI drivers: file systems of persistent volumes, also of volumes of
/// clouds that are translated, and inline volumes.
/// Owns:    the desk of pods and the volumes of the node.
/// Killed:  see node_volumes.h.
/// Threads: the plugin's calls any, all others the loop's; no call waits.
/// Errors:  as the event FailedMount shows them.
/// Source:  docs/behaviour/volumes.md, "CSI"; kubelet plugin csi.

#include <functional>
#include <string>

#include "services/pod-worker/volumes/csi/mount_desk.h"
#include "services/pod-worker/volumes/csi/node_volumes.h"

namespace splitlet::pod_worker {

class CsiVolumes final : public VolumePlugin {
 public:
  struct Out {
    /// The pod can go on with its volumes, or has an error to show.
    std::function<void(const std::string& uid)> wake;
    std::function<void(const VolumesInUse&)> in_use;
  };
  CsiVolumes(CsiDeps deps, const std::string& root_dir, Out out);

  /// The volumes, for what happens to the node: start, record of status, drivers.
  NodeVolumes& volumes() { return volumes_; }

  bool Takes(const VolumeSpec& spec) const override;
  /// Volumes of clouds become volumes of their drivers.
  StatusOr<VolumeSpec> Translate(VolumeSpec spec, const kube::Pod& pod) const override;
  std::string_view folder() const override { return "kubernetes.io~csi"; }
  StatusOr<std::string> HostPath(const VolumeSpec& spec, const VolumePlace& place) const override;
  bool refreshes() const override { return true; }
  bool takes_mount_options() const override { return true; }
  SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                    const VolumePlace& place) override;
  StatusOr<Progress> Release(const VolumePlace& folder) override;
  StatusOr<Progress> TearDown(const VolumePlace& place) override;

 private:
  NodeVolumes volumes_;
  MountDesk desk_;
};

}  // namespace splitlet::pod_worker
