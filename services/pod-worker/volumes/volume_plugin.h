#pragma once

/// One kind of volume: where it is on the host, how it is made ready and taken down. A new kind is
/// one class behind this header and a line in volume_manager.cc, CSI included.
/// Threads: any, one call for a volume of a pod at a time; calls block on files and local mounts.
///          What may last, as a server's answer, is begun and not waited for (Progress).
/// Errors:  what the event FailedMount shows behind "MountVolume.SetUp failed for volume".
/// Source:  docs/behaviour/volumes.md, "Plugins".

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/volumes/slow_walk.h"
#include "services/pod-worker/volumes/volume_spec.h"
#include "services/pod-worker/volumes/volume_step.h"

namespace splitlet::pod_worker {

struct VolumeInput {
  const kube::Pod& pod;         // with its fsGroup and the policy of its change
  const ObjectSource* objects;  // null: this node has none
  /// While nobody knows what a volume is to show, what it shows already is good enough.
  bool for_start = false;
  WarnPod warn = {};  // hears what takes long
};

/// How far a call has come. Under way: the same call is to be made again when something of its pod
/// has ended that it has begun (process::Programs tells); it holds no thread meanwhile.
enum class Progress { kDone, kUnderWay };

/// Of a call that waits for nothing.
inline StatusOr<Progress> Done(Status status) {
  if (!status.ok()) return status;
  return Progress::kDone;
}

/// How far a set-up has come, or why it failed and, where that is not the call's own step, at which
/// step.
class [[nodiscard]] SetUpResult : public StatusOr<Progress> {
 public:
  SetUpResult(Progress progress) : StatusOr<Progress>(progress) {}
  SetUpResult(Status why) : StatusOr<Progress>(std::move(why)) {}
  SetUpResult(StatusOr<Progress> result) : StatusOr<Progress>(std::move(result)) {}
  SetUpResult(VolumeStep step, Status why) : StatusOr<Progress>(std::move(why)), step_(step) {}
  std::optional<VolumeStep> step() const { return step_; }

 private:
  std::optional<VolumeStep> step_;
};

/// Where a plugin puts what it makes for a volume of a pod.
struct VolumePlace {
  std::string path;         // "<pod>/volumes/<folder>/<name>"
  std::string device = {};  // "<pod>/volumeDevices/<folder>/<name>": leads to a block device
  /// "<root>/plugins": below it is what pods share of a device, and where it is staged.
  std::string plugins_dir = {};
  std::string pod_uid = {};
};

/// The part of a plugin whose volumes containers may have as block devices. What it makes for a pod
/// outside of `place.device` is made after that, and goes before it.
class BlockMapper {
 public:
  virtual ~BlockMapper() = default;
  /// Afterwards `place.device` leads to the device. Its own step is kMapDevice. Idempotent.
  virtual SetUpResult Map(const VolumeSpec& spec, const VolumePlace& place) = 0;
  /// Idempotent.
  virtual StatusOr<Progress> Unmap(const VolumePlace& place) = 0;
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
  /// Null: its volumes are file systems only.
  virtual BlockMapper* block() { return nullptr; }
  /// Those of a persistent volume are for it.
  virtual bool takes_mount_options() const { return false; }
  /// Its own step is kSetUp. Idempotent, and goes on where a killed process left off.
  virtual SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                            const VolumePlace& place) = 0;
  /// Before anybody looks into the folder, where its volumes of a pod are: what could hang is
  /// unmounted. Idempotent.
  virtual StatusOr<Progress> Release(const VolumePlace& /*folder*/) { return Progress::kDone; }
  /// Everything at the path goes; what pods share goes with the last of them. The pod's spec is
  /// not known any more: what is needed of it, SetUp has left on the disk. Idempotent.
  virtual StatusOr<Progress> TearDown(const VolumePlace& place) = 0;
};

}  // namespace splitlet::pod_worker
