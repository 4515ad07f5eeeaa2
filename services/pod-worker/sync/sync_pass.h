#pragma once

/// One sync of one pod: observes the runtime, decides, and does what can be done now. It never
/// waits for a container to stop or an image to come: the caller does those, and syncs again.
/// In:      SyncRunner, on the pod's strand.
/// Owns:    nothing; what it finds out is in the outcome.
/// Out:     sandboxes, containers, volumes and the cgroup of the pod; events.
/// Killed:  the next sync observes the runtime again.
/// Threads: any, one sync per pod at a time; blocks.
/// Errors:  in the outcome; each is in an event already.
/// Source:  docs/behaviour/pod-sync.md, "Steps"; docs/safety.md, rules 16 and 17.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/sync/plan/actions.h"
#include "services/pod-worker/sync/plan/restart_all.h"
#include "services/pod-worker/sync/sandbox_maker.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace splitlet::v1 {
class SandboxRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class SyncPass {
 public:
  /// All three outlive it.
  SyncPass(const SyncDeps& deps, const SyncInput& input, const kube::Pod& pod);
  /// Once.
  SyncOutcome Run();

 private:
  Deadline Soon() const { return After(deps_.clock, deps_.request_timeout); }
  bool Ending() const { return input_.ending->cancelled(); }

  Status Steps();
  Status Observe();
  void TakeSeen(v1::ObservedPod seen);
  void RememberRunning(const v1::ObservedPod& present);
  void ForgetReplaced();
  /// `next` replaces the attempts that are remembered.
  Status SaveAttempts(cri::StartedAttempts next);

  Status RestartAllContainers(const RestartAll& all);
  Status StopEarlierIncarnations();
  StatusOr<bool> LostCgroup();
  Status EndWithoutCgroup();
  Status Carry(PodActions todo);
  Status StopSandboxes();
  Status StopSandbox(const v1::SandboxRecord& sandbox);
  Status ForgetAttempts(const std::vector<std::string>& containers);
  Status RemoveAll(const std::vector<std::string>& ids);
  void RemoveRecords(const std::vector<std::string>& ids);
  bool HookUnderWay();
  bool WasStarted() const;

  /// False: the volumes are under way.
  StatusOr<bool> PrepareVolumes();
  void RefreshVolumes();
  VolumeManager::OnFailed WarnOfMount();
  Status Start(const PodActions& todo);

  const SyncDeps& deps_;
  const SyncInput& input_;
  const kube::Pod& pod_;
  PodEvents events_;
  SyncOutcome out_;
  SandboxMaker sandbox_;
  /// Of the present incarnation, and what is lost of it; of all incarnations.
  std::shared_ptr<const v1::ObservedPod> seen_, all_;
  std::map<std::string, std::string> volumes_;
  std::string pod_dir_;
};

/// Runs one pass for the pod of `input`, in a span of its trace.
SyncOutcome RunSync(const SyncDeps& deps, const SyncInput& input);

}  // namespace splitlet::pod_worker
