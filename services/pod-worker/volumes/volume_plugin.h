#pragma once

/// One kind of volume: its path on the host, its set-up and its tear-down. A new kind, CSI
/// included, is one class with this interface and a line in volume_manager.cc.
/// Threads: any, one call for a volume of a pod at a time; calls block on files and local mounts.
///          A call that may take long, such as one to a server, is begun and not awaited
///          (Progress).
/// Errors:  the reason in the event; volume_step.h makes the event's text.
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
  /// While the objects of a volume are not known, its present files are good enough.
  bool for_start = false;
  WarnPod warn = {};  // for what takes long
};

/// How far a call has come. Under way: the call has begun a program and holds no thread; the caller
/// repeats it when process::Programs reports the end of a program of the pod.
enum class Progress { kDone, kUnderWay };

/// The result of a call that never waits.
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

/// The paths that a plugin may use for a volume of a pod.
struct VolumePlace {
  std::string path;         // "<pod>/volumes/<folder>/<name>"
  std::string device = {};  // "<pod>/volumeDevices/<folder>/<name>": the link to a block device
  /// "<root>/plugins": below it are files of a device that pods share, and staging directories.
  std::string plugins_dir = {};
  std::string pod_uid = {};
};

/// The part of a plugin whose volumes can be block devices. It makes `place.device` before any
/// other file of the pod, and removes `place.device` last.
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
  /// The spec in the form that the plugin takes, if it has one; other specs as they are.
  virtual StatusOr<VolumeSpec> Translate(VolumeSpec spec, const kube::Pod& /*pod*/) const {
    return spec;
  }
  /// The plugin's name as a folder below "<pod>/volumes"; empty: it has nothing there.
  virtual std::string_view folder() const { return ""; }
  /// The plugin's name in a kubelet's metrics.
  virtual std::string name() const {
    std::string name(folder());
    if (const size_t at = name.find('~'); at != std::string::npos) name[at] = '/';
    return name;
  }
  /// The path that containers mount.
  virtual StatusOr<std::string> HostPath(const VolumeSpec&, const VolumePlace& place) const {
    return place.path;
  }
  /// SetUp again brings a mounted volume up to date.
  virtual bool refreshes() const { return false; }
  /// Null: its volumes are file systems only.
  virtual BlockMapper* block() { return nullptr; }
  /// Supports the mount options of a persistent volume.
  virtual bool takes_mount_options() const { return false; }
  /// Its own step is kSetUp. Idempotent, and goes on where a killed process left off.
  virtual SetUpResult SetUp(const VolumeSpec& spec, const VolumeInput& in,
                            const VolumePlace& place) = 0;
  /// Before the folder with the plugin's volumes of a pod is read: unmounts mounts that may hang.
  /// Idempotent.
  virtual StatusOr<Progress> Release(const VolumePlace& /*folder*/) { return Progress::kDone; }
  /// Removes everything at the path; the last pod also removes shared files. The pod's spec is not
  /// known here, so SetUp leaves on the disk what TearDown needs. Idempotent.
  virtual StatusOr<Progress> TearDown(const VolumePlace& place) = 0;
};

}  // namespace splitlet::pod_worker
