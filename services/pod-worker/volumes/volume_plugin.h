#pragma once

/// One kind of volume: where it is on the host, how it is made ready and taken down. A new kind is
/// one class behind this header and a line in volume_manager.cc, CSI included.
/// Threads: any, one call for a volume of a pod at a time; calls block on files and mounts.
/// Errors:  what the event FailedMount shows behind "MountVolume.SetUp failed for volume".
/// Source:  docs/behaviour/volumes.md; services/pod-worker/README.md, "Volumes".

#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/volumes/volume_spec.h"

namespace splitlet::pod_worker {

struct VolumeInput {
  const kube::Pod& pod;         // with its fsGroup and the policy of its change
  const ObjectSource* objects;  // null: this node has none
  /// While nobody knows what a volume is to show, what it shows already is good enough.
  bool for_start = false;
};

/// Where a plugin puts what it makes for a volume of a pod.
struct VolumePlace {
  std::string path;  // "<pod>/volumes/<folder>/<name>"
  /// "<root>/plugins/<plugin>": what pods share of a device, and where it is staged.
  std::string shared = {};
};

class VolumePlugin {
 public:
  virtual ~VolumePlugin() = default;
  virtual bool Takes(const VolumeSpec& spec) const = 0;
  /// The plugin's name as a folder below "<pod>/volumes"; empty: it has nothing there.
  virtual std::string_view folder() const { return ""; }
  /// As a kubelet's metrics have it.
  virtual std::string name() const {
    std::string name(folder());
    if (const size_t at = name.find('~'); at != std::string::npos) name[at] = '/';
    return name;
  }
  /// What containers mount of it.
  virtual StatusOr<std::string> HostPath(const VolumeSpec&, const VolumePlace& place) const {
    return place.path;
  }
  /// What it shows may change while containers have it: SetUp again brings it up to date.
  virtual bool refreshes() const { return false; }
  /// Those of a persistent volume are for it.
  virtual bool takes_mount_options() const { return false; }
  /// Idempotent, and goes on where a killed process left off.
  virtual Status SetUp(const VolumeSpec& spec, const VolumeInput& in, const VolumePlace& place) = 0;
  /// Before anybody looks into `folder`, where its volumes of a pod are: what could hang is
  /// unmounted. Idempotent.
  virtual Status Release(const std::string& /*folder*/) { return OkStatus(); }
  /// Everything at the path goes; what pods share goes with the last of them. The pod's spec is
  /// not known any more: what is needed of it, SetUp has left on the disk. Idempotent.
  virtual Status TearDown(const VolumePlace& place) = 0;
};

}  // namespace splitlet::pod_worker
