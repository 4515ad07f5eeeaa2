#pragma once

/// The CSI volumes of this node: what pods want, what is staged and published, and the next step of
/// each. A volume is staged once, for all its pods, and published once for each pod.
/// In:      what pods ask (MountDesk); the node's record of status; drivers that come and go;
///          answers of operations.
/// Owns:    the state of each volume and of each pod's mount (libs/csi/mount_state.h), back-offs,
///          the operations under way: one for a volume or for each of its pods.
/// Out:     operations; answers to pods; the names of volumes in use.
/// Killed:  vol_data.json of each mount says what is undone or done again (found.h).
/// Threads: the loop's.
/// Errors:  in the answers. A step that waits for the node's status is no error.
/// Source:  docs/behaviour/volumes.md, "CSI"; kubelet volume manager reconciler.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/csi/mount_state.h"
#include "libs/exec/ask.h"
#include "services/pod-worker/volumes/csi/attach.h"
#include "services/pod-worker/volumes/csi/backoff.h"
#include "services/pod-worker/volumes/csi/csi_deps.h"
#include "services/pod-worker/volumes/csi/found.h"
#include "services/pod-worker/volumes/csi/operation.h"
#include "services/pod-worker/volumes/csi/publish.h"
#include "services/pod-worker/volumes/csi/stage.h"
#include "services/pod-worker/volumes/csi/wish.h"
#include "services/pod-worker/volumes/volume_plugin.h"

namespace splitlet::pod_worker {

/// The names that status has written to the Node, and those that the Node shows as attached.
struct NodeAttachments {
  std::set<std::string> in_use, attached;
  bool operator==(const NodeAttachments&) const = default;
};

/// For the record of the node.
struct VolumesInUse {
  std::vector<std::string> names;  // sorted
  bool known = false;              // volumes of an earlier start are among them
  bool operator==(const VolumesInUse&) const = default;
};

class NodeVolumes {
 public:
  struct Out {
    std::function<void(const PodVolumeKey&, const SetUpResult&)> mounted;
    std::function<void(const PodVolumeKey&, const Status&)> unmounted;
    std::function<void(const std::string& uid)> released;
    std::function<void(const VolumesInUse&)> in_use;
  };
  /// `root_dir`: the kubelet's.
  NodeVolumes(CsiDeps deps, std::string root_dir, Out out);

  /// Finds the volumes of an earlier start; until they are known, nothing is mounted or unmounted.
  void Start();
  /// The pods of this node are known: what none of them wants is unstaged from now on.
  void OnPodsKnown();
  void OnNode(NodeAttachments node);
  /// A driver or its object came, went or changed.
  void OnDriversChanged();

  void OnWish(const PodVolumeKey& key, Wish wish, bool again);
  void OnUnmount(const PodVolumeKey& key, const std::string& directory);
  void OnRelease(const std::string& uid);

 private:
  /// An operation under way, and what its end means.
  struct Running {
    std::unique_ptr<Operation> operation;  // null: none
    std::function<void(Operation& ended, const Outcome& outcome)> on_end;
  };
  struct NodeVolume {
    std::string driver, handle, staging_dir;
    csi::Lifecycle lifecycle = csi::Lifecycle::kPersistent;
    StateBefore device;
    std::optional<csi::StringMap> context;  // set: it is attached, for the next stage
    VolumeBackoff backoff;
    Running running;
  };
  struct PodMount {
    std::string volume;        // its name; empty: not known
    std::optional<Wish> wish;  // unset: the pod does not want it, or has not said so yet
    std::string directory;
    StateBefore mount;
    bool again = false, leaves = false;
    VolumeBackoff backoff;
    Running running;
  };

  // The start.
  void FindLeftVolumes();
  void OnFound(const StatusOr<FoundVolumes>& found);
  void Add(const FoundVolumes& found);
  void ReadNodeOnce();

  // The next step of a volume and of the mounts of its pods.
  void AdvanceAll();
  void Advance(const std::string& name);
  void Clean(const std::string& name);
  void EnsureStaged(const std::string& name, const Wish& wish);
  void EnsurePublished(const PodVolumeKey& key);
  bool MayUnstage(const NodeVolume& volume) const;
  bool IsTakenByAnotherPod(const PodVolumeKey& key, const PodMount& mount) const;
  bool MayNeedAttachment(const std::string& name, const NodeVolume& volume) const;

  // Operations and their ends.
  Operation::Host HostOf(const std::string& strand, std::function<void()> advance);
  void RunVolume(const std::string& name);
  void RunMount(const PodVolumeKey& key);
  static void Run(Running& running);
  void BeginAttachCheck(const std::string& name, const Wish& wish);
  void BeginStage(const std::string& name, const Wish& wish);
  void BeginUnstage(const std::string& name);
  void BeginPublish(const PodVolumeKey& key, ObjectPtr<CsiDriverObject> object);
  void BeginUnpublish(const PodVolumeKey& key);
  void OnStaged(const std::string& name, const Outcome& outcome);
  void OnUnstaged(const std::string& name, const Outcome& outcome);
  void OnPublished(const PodVolumeKey& key, const Outcome& outcome);
  void OnUnpublished(const PodVolumeKey& key, const Outcome& outcome);
  void OnFailed(const std::string& name, const Outcome& outcome);
  void AnswerRelease(const std::string& uid);

  NodeVolume& VolumeOf(const std::string& driver, const std::string& handle,
                       csi::Lifecycle lifecycle);
  std::vector<PodVolumeKey> MountsOf(const std::string& volume) const;
  void AdvanceAfter(const std::string& name, Duration wait);
  void Report();

  const CsiDeps deps_;
  const std::string root_dir_;
  const Out out_;
  std::map<std::string, NodeVolume> volumes_;  // by name: "kubernetes.io/csi/<driver>^<handle>"
  std::map<PodVolumeKey, PodMount> mounts_;
  std::set<std::string> releasing_;  // UIDs of pods that wait for the end of a publish
  std::map<std::string, Clock::Time> due_;
  NodeAttachments node_;
  VolumesInUse reported_;
  bool found_ = false, pods_known_ = false, node_read_ = false;
  std::set<PodVolumeKey> unreadable_;  // mounts of an earlier start with an unknown volume
  exec::Asker asker_;
};

}  // namespace splitlet::pod_worker
