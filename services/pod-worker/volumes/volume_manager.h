#pragma once

/// The volumes of pods: set up before containers start, kept current while they run, torn down when
/// no container of the pod runs.
/// In:      pods, from the sync and the termination.
/// Owns:    only metrics in memory; the volumes are on the disk and in the kernel.
/// Killed:  the next start sets up or tears down again; both are idempotent.
/// Threads: any, one call for a pod at a time; calls block on files and local mounts, but never on
///          a server (Progress).
/// Errors:  the text of the event FailedMount or FailedMapVolume.
/// Source:  docs/behaviour/volumes.md; docs/safety.md, rule 25.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
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
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/volumes/sub_paths.h"
#include "services/pod-worker/volumes/volume_dirs.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

/// Name of the volume -> directory, file or block device on the host.
using VolumePaths = std::map<std::string, std::string>;

struct PodVolumes {
  VolumePaths paths;
  std::set<int64_t> groups;             // of persistent volumes, for all containers of the pod
  Progress progress = Progress::kDone;  // under way: not all volumes are ready
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
    process::ProgramRunner run = nullptr;   // null: mount options are not supported
    process::Programs* programs = nullptr;  // null: NFS volumes are not supported
    VolumePlugin* csi = nullptr;            // null: volumes of CSI drivers are not supported
  };
  /// Called for the failure of each volume, with the reason and the text of its event. The call
  /// goes on with the other volumes.
  using OnFailed = std::function<void(const char* reason, const Status&)>;
  explicit VolumeManager(Deps deps);

  /// Makes the pod's directory, marks it before, and sets up the volumes that containers use. Image
  /// volumes are left to the runtime. `place`: of the pod. Returns the first error.
  StatusOr<PodVolumes> SetUp(const VolumeInput& in, const node::PodPlace& place,
                             const OnFailed& failed = Ignore);
  /// The pod may have volumes that Refresh brings up to date.
  bool MayRefresh(const kube::Pod& pod) const;
  /// Brings volumes that show objects up to date, and those that a driver publishes again.
  void Refresh(const VolumeInput& in, const node::PodPlace& place, const OnFailed& failed);
  /// Binds the subPaths of a container; its volumes are set up.
  StatusOr<std::map<int, std::string>> BindSubPaths(const SubPaths::Request& request) {
    return sub_paths_.Bind(request);
  }
  /// Removes the pod's volumes. A pod without a mark, which a kubelet left or whose state was lost,
  /// gets one, so that gc removes the rest of its directory.
  StatusOr<Progress> TearDown(const std::string& uid, const std::string& source);
  /// The pod's directory has the mark of this node.
  StatusOr<bool> IsMarked(const std::string& uid) const;

 private:
  static void Ignore(const char*, const Status&) {}
  /// A volume and its plugin.
  struct Choice {
    VolumeSpec spec;
    VolumePlugin* plugin;
    VolumePlace place;
    std::string host_path;
    bool as_device = false;
  };
  /// Finds the persistent volume behind a claim.
  std::variant<VolumeSpec, VolumeFailure> Resolve(const kube::Volume& volume,
                                                  const VolumeInput& in) const;
  std::variant<VolumeSpec, VolumeFailure> Translate(VolumeSpec spec, const kube::Pod& pod) const;
  /// Null: no plugin supports it.
  VolumePlugin* PluginOf(const VolumeSpec& spec) const;
  std::variant<Choice, VolumeFailure> Choose(const kube::Volume& volume, const VolumeInput& in,
                                             const std::string& pod_dir) const;
  SetUpResult Make(const Choice& choice, const VolumeInput& in) const;
  StatusOr<Progress> TearDownVolume(VolumePlugin& plugin, const VolumePlace& place) const;
  SetUpResult Map(const Choice& choice) const;
  SetUpResult MakeFor(const Choice& choice, const VolumeInput& in,
                      const std::string& pod_dir) const;
  /// Unmaps all block devices that the plugin has for the pod.
  StatusOr<Progress> UnmapAll(VolumePlugin& plugin, const std::string& pod_dir) const;
  StatusOr<Progress> TearDownAll(VolumePlugin& plugin, const std::string& uid,
                                 const std::string& pod_dir) const;
  /// `wanted`, `made`: names of plugins.
  void Count(const std::string& uid, const std::vector<std::string>& wanted,
             const std::vector<std::string>& made);
  void Uncount(const std::string& uid);
  /// Counts the volumes of a pod that ran before pod-worker started.
  void CountFound(const VolumeInput& in);
  /// Marks and makes the pod's directory.
  Status MakePlace(const VolumeInput& in, const node::PodPlace& place);
  Status MarkPod(const std::string& uid, const node::PodMark& mark);

  const Deps deps_;
  daemon::OwnedGauges counts_;  // of each pod's wanted and made volumes
  VolumeDirs dirs_;
  SubPaths sub_paths_;
  std::vector<std::unique_ptr<VolumePlugin>> own_plugins_;
  std::vector<VolumePlugin*> plugins_;  // own ones, then those of others
};

}  // namespace splitlet::pod_worker
