#pragma once

/// The part of a sync that brings containers up, one after the other in spec order. For each
/// container: numbers and back-off, images, preparation, creation, start, and its postStart hook.
/// In:      SyncPass, for a pod with a sandbox and its volumes.
/// Owns:    nothing; its parts keep what they know for one sync.
/// Out:     containers, by ContainerCalls; the container whose hook is to be run, in the outcome.
/// Killed:  the next sync goes on with the container that was made or started.
/// Threads: that of the sync.
/// Errors:  the first is returned; each has its event and its waiting reason.
/// Source:  docs/behaviour/pod-sync.md, "Steps" and "Reasons and events".

#include <optional>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "services/pod-worker/sync/container_calls.h"
#include "services/pod-worker/sync/container_config.h"
#include "services/pod-worker/sync/container_images.h"
#include "services/pod-worker/sync/container_logs.h"
#include "services/pod-worker/sync/plan/actions.h"
#include "services/pod-worker/sync/start_context.h"
#include "services/pod-worker/sync/start_numbers.h"
#include "services/pod-worker/sync/start_reports.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace splitlet::pod_worker {

class ContainerStarter {
 public:
  ContainerStarter(StartContext context, SyncOutcome& out);
  ContainerStarter(const ContainerStarter&) = delete;
  ContainerStarter& operator=(const ContainerStarter&) = delete;

  /// A plain init container that does not come up, a sandbox that has died, or a container that has
  /// a postStart hook, which others wait for, ends the sync;
  /// anything else does not hold back the next.
  Status StartAll(const PodActions& todo);
  bool StartedSidecar() const { return started_sidecar_; }
  bool StartedAny() const { return started_any_; }

 private:
  /// What failed. Only a failure of the creation can come from a dead sandbox.
  enum class CreatePart { kConfig, kCreation };
  static const char* ReasonOf(CreatePart part);
  enum class Result { kStarted, kHooked, kWaits, kFailed, kSandboxDied };
  void StartEach(const PodActions& todo);
  static bool EndsSync(ContainerKind kind, Result result);
  const kube::Container* Find(const ContainerStart& start) const;
  Result StartOne(ContainerStart start);
  /// Unset: the container is made, and `id` is that of it.
  std::optional<Result> Create(const kube::Container& container, const ContainerStart& start,
                               cri::ContainerId& id);
  Status PrepareCreation(const kube::Container& container, const ContainerStart& start);
  Result StartCreated(const kube::Container& container, const ContainerStart& start,
                      const cri::ContainerId& id);
  Result AwaitHook(const kube::Container& container, const ContainerStart& start,
                   const cri::ContainerId& id);
  Result LeaveDeadSandbox(const ContainerStart& start, const cri::ContainerId& id);
  Result GiveUp(const Status& why);
  Result Fail(const ContainerStart& start, const std::string& reason, const Status& status,
              const std::string& id = {});
  std::string LogOf(const ContainerStart& start) const;

  const StartContext context_;
  SyncOutcome& out_;
  const std::vector<kube::Container> ephemerals_;
  StartReports reports_;
  StartNumbers numbers_;
  ContainerImages images_;
  ContainerConfigMaker configs_;
  ContainerCalls calls_;
  ContainerLogs logs_;
  bool started_sidecar_ = false, started_any_ = false;
};

}  // namespace splitlet::pod_worker
