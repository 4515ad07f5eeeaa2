#pragma once

/// The memory of the starts of a container: its attempt number, its restart count, its crash-loop
/// back-off, and whether the attempt has begun.
/// In:      ContainerStarter, before each step that one of them allows.
/// Owns:    nothing; all of it is in the outcome.
/// Out:     files of back-offs and of started attempts.
/// Killed:  both are on disk before the start that they allow.
/// Threads: that of the sync; blocks on the disk.
/// Errors:  those of the disk.
/// Source:  docs/behaviour/pod-sync.md, "Crash-loop back-off"; docs/safety.md, rules 3 and 5.

#include "libs/base/status.h"
#include "libs/cri/incarnation.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/sync/plan/actions.h"
#include "services/pod-worker/sync/start_context.h"
#include "services/pod-worker/sync/start_reports.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace splitlet::pod_worker {

class StartNumbers {
 public:
  StartNumbers(const StartContext& context, StartReports& reports, SyncOutcome& out)
      : context_(context), reports_(reports), out_(out) {}

  /// Sets attempt and restart count.
  void Set(ContainerStart& start) const;
  /// The container waits before it starts again.
  bool BacksOff(const kube::Container& container, const ContainerStart& start);
  /// On disk before the start that it allows: killed after this, the same exit is not waited for
  /// again.
  Status SaveBackoff(const kube::Container& container, const ContainerStart& start);
  /// On disk before the start: a container that is gone afterwards has run.
  Status RememberStart(const kube::Container& container, const ContainerStart& start);
  /// After a start that did not happen; `before`: the attempts before RememberStart. Killed before
  /// this, or if this cannot be saved, the container counts as one that has run and ended unseen.
  void ForgetStart(cri::StartedAttempts before);

 private:
  CrashBackoff::Exit ExitOf(const ContainerStart& start) const;

  const StartContext& context_;
  StartReports& reports_;
  SyncOutcome& out_;
};

}  // namespace splitlet::pod_worker
