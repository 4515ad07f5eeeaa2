#pragma once

/// The volumes of pods: made before containers start, kept up to date while they run, taken down
/// when nothing of the pod runs.
/// In:      pods as PodSync and TerminationRunner have them.
/// Owns:    nothing in memory but counts: what is there is on the disk and in the kernel.
/// Killed:  the next start sets up or takes down again; both are idempotent.
/// Threads: any, one call for a pod at a time; calls block on files and local mounts, and for a
///          server none waits (Progress).
/// Errors:  the text that the event FailedMount shows.
/// Source:  docs/behaviour/volumes.md; docs/safety.md, rule 25.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/daemon/owned_gauges.h"
#include "libs/fs/file_system.h"
#include "libs/fs/mounts.h"
#include "libs/fs/ownership.h"
#include "libs/node/pod_place.h"
#include "libs/process/programs.h"
#include "libs/process/run_program.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/runtime_config/node_info.h"
#include "services/pod-worker/volumes/sub_paths.h"
#include "services/pod-worker/volumes/volume_dirs.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

/// Name of the volume -> directory, file or block device on the host.
using VolumePaths = std::map<std::string, std::string>;

struct PodVolumes {
  VolumePaths paths;
  std::set<int64_t> groups;             // of persistent volumes: all containers of the pod get them
  Progress progress = Progress::kDone;  // under way: they are not ready yet
};

class VolumeManager {
 public:
  struct Deps {
    fs::FileSystem& files;
    fs::Mounts& mounts;
    fs::Ownership& ownership;
    const Clock& clock;
    const NodeInfo& node;
    const Log& log;
    Metrics& metrics;
    process::ProgramRunner run = nullptr;   // null: what a program mounts is not supported
    process::Programs* programs = nullptr;  // likewise, of what may last
  };
  /// Hears of each failure of a call that goes on with other volumes, with the reason of its event;
  /// the call returns the first.
  using OnFailed = std::function<void(const char* reason, const Status&)>;
  explicit VolumeManager(Deps deps);

  /// All that a container mounts; a volume that none does is not made, and an image the runtime
  /// mounts. Makes the pod's directory too, and marks it before. `place`: of the pod.
  StatusOr<PodVolumes> SetUp(const VolumeInput& in, const node::PodPlace& place,
                             const OnFailed& failed = Untold);
  /// Those that show objects, which may have changed since.
  Status Refresh(const VolumeInput& in, const node::PodPlace& place,
                 const OnFailed& failed = Untold);
  /// What a container mounts of volumes that are set up, instead of them whole.
  StatusOr<std::map<int, std::string>> BindSubPaths(const SubPaths::Request& request) {
    return sub_paths_.Bind(request);
  }
  /// Takes away what belongs to the pod alone. A pod that ran here without a mark, taken over from
  /// a kubelet or after the state was lost, gets one, so that the rest of its directory goes as
  /// well.
  StatusOr<Progress> TearDown(const std::string& uid, const std::string& source);
  /// The pod's directory is known to be of this node.
  StatusOr<bool> IsMarked(const std::string& uid) const;

 private:
  static void Untold(const char*, const Status&) {}
  /// A volume and who makes it.
  struct Choice {
    VolumeSpec spec;
    VolumePlugin* plugin;
    VolumePlace place;
    std::string host_path;
    bool as_device = false;
  };
  /// With what is behind a claim; any other volume as it is.
  StatusOr<VolumeSpec> Resolve(const kube::Volume& volume, const VolumeInput& in) const;
  /// Null: no plugin takes it.
  VolumePlugin* PluginOf(const VolumeSpec& spec) const;
  StatusOr<Choice> Choose(const kube::Volume& volume, const VolumeInput& in,
                          const std::string& pod_dir) const;
  StatusOr<Progress> Make(const Choice& choice, const VolumeInput& in) const;
  StatusOr<Progress> TakeDown(VolumePlugin& plugin, const VolumePlace& place) const;
  StatusOr<Progress> Map(const Choice& choice) const;
  /// All that it has of the pod.
  StatusOr<Progress> UnmapAll(VolumePlugin& plugin, const std::string& pod_dir) const;
  StatusOr<Progress> TakeDownAll(VolumePlugin& plugin, const std::string& uid,
                                 const std::string& pod_dir) const;
  /// By the names of their plugins.
  void Count(const std::string& uid, const std::vector<std::string>& wanted,
             const std::vector<std::string>& made);
  void Uncount(const std::string& uid);
  /// A pod that ran before this process counts from its next sync on.
  void CountFound(const VolumeInput& in);
  /// The pod's directory, marked before.
  Status MakePlace(const VolumeInput& in, const node::PodPlace& place);
  Status MarkPod(const std::string& uid, const node::PodMark& mark);

  const Deps deps_;
  daemon::OwnedGauges counts_;  // of what is wanted of a pod, and of what is made
  VolumeDirs dirs_;
  SubPaths sub_paths_;
  std::vector<std::unique_ptr<VolumePlugin>> plugins_;
};

}  // namespace splitlet::pod_worker
