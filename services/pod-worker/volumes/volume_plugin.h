#pragma once

/// One kind of volume: where it is on the host, how it is made ready and taken down. A new kind is
/// one class behind this header and a line in volume_manager.cc.
/// Threads: any, one call for a volume at a time; calls block on files and mounts.
/// Errors:  what the event FailedMount shows behind "MountVolume.SetUp failed for volume".
/// Source:  docs/behaviour/volumes.md.

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"

namespace k8s::io::api::core::v1 {
class VolumeSource;
}

namespace splitlet::pod_worker {

using VolumeSource = k8s::io::api::core::v1::VolumeSource;

struct VolumeInput {
  const kube::Pod& pod;
  const ObjectSource* objects;  // null: this node has none
  /// While nobody knows what a volume is to show, what it shows already is good enough.
  bool for_start = false;
  std::vector<std::string> mount_options = {};  // of the persistent volume
};

class VolumePlugin {
 public:
  virtual ~VolumePlugin() = default;
  virtual bool Takes(const VolumeSource& source) const = 0;
  /// The plugin's name as a folder below "<pod>/volumes"; empty: it has nothing there.
  virtual std::string_view folder() const { return ""; }
  /// As a kubelet's metrics have it.
  virtual std::string name() const {
    std::string name(folder());
    if (const size_t at = name.find('~'); at != std::string::npos) name[at] = '/';
    return name;
  }
  /// Where the volume is when the plugin has no folder.
  virtual StatusOr<std::string> HostPath(const VolumeSource&) const { return std::string(); }
  /// What it shows may change while containers have it: SetUp again brings it up to date.
  virtual bool refreshes() const { return false; }
  /// Those of a persistent volume are for it.
  virtual bool takes_mount_options() const { return false; }
  /// Idempotent, and goes on where a killed process left off. `path`: of the volume.
  virtual Status SetUp(const kube::Volume& volume, const VolumeInput& in,
                       const std::string& path) = 0;
  /// Before anybody looks into `folder`, where its volumes of a pod are: what could hang is
  /// unmounted. Idempotent.
  virtual Status Release(const std::string& /*folder*/) { return OkStatus(); }
  /// Everything at `path` goes. Idempotent.
  virtual Status TearDown(const std::string& path) = 0;
};

}  // namespace splitlet::pod_worker
