#pragma once

/// Reports on the start of containers: events, waiting reasons, log lines, and the first error of
/// the sync.
/// In:      the parts of a start, each for what it has done or could not do.
/// Owns:    for one sync, its first error.
/// Out:     events, log lines; waiting reasons and the time of the next try in the outcome.
/// Killed:  the next sync reports again what still holds.
/// Threads: that of the sync.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Reasons and events".

#include <string>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "services/pod-worker/pod/crash_backoff.h"
#include "services/pod-worker/sync/image_resolver.h"
#include "services/pod-worker/sync/plan/actions.h"
#include "services/pod-worker/sync/start_context.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace splitlet::pod_worker {

/// As metrics name it.
std::string TypeOf(const ContainerStart& start);

class StartReports {
 public:
  StartReports(const StartContext& context, SyncOutcome& out) : context_(context), out_(out) {}

  const Status& first_error() const { return first_error_; }

  /// `id`: of the container, where the error may name it.
  struct Failure {
    const std::string& reason;
    const Status& status;
    std::string id = {};
  };
  void Failed(const ContainerStart& start, const Failure& failure);
  /// Because the pod ends: no failure of the container.
  void GivenUp(const Status& why);
  void AwaitsImage(const ImageFailure& failed, const std::string& container);
  void BacksOff(const ContainerStart& start, const CrashBackoff::Wait& wait, Clock::Time now);
  void Created(const ContainerStart& start);
  /// A pod-worker before this one may have made the container and has not seen it start.
  void Starts(const ContainerStart& start) const;
  void Started(const ContainerStart& start, const cri::ContainerId& id);
  void SandboxDied(const ContainerStart& start);

 private:
  void TryAgainAt(Clock::Time at);

  const StartContext& context_;
  SyncOutcome& out_;
  Status first_error_;
};

}  // namespace splitlet::pod_worker
