#pragma once

/// Terminates the pods of the node before a shutdown of the machine, pods of lower priority first,
/// and then lets the machine shut down.
/// In:    ShutdownWatch; changes of `desired` and `workers`; timers.
/// Owns:  Phase, the current group, the pods that it has asked pod-worker to end; the times of the
/// last shutdown.
/// Out:   KillPod, until pod-worker answers; `on_change` for the node's record; events of the node.
/// Killed at any line: the current group is saved for this boot. The next start continues with it
/// and sends the same KillPods again, which pod-worker carries out once.
/// Threads: loop thread; files and calls on strands of their own.
/// Errors: a failed KillPod is repeated until the time of the group is over. Files that cannot be
/// read or written are logged; then the shutdown starts again with the first group.
/// Source: docs/behaviour/node-shutdown.md; docs/safety.md, rules 3 and 19.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/config.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/eviction/active_pods.h"
#include "services/gc/protect/repeated_failure.h"
#include "services/gc/protect/shutdown/shutdown_disk.h"
#include "services/gc/protect/shutdown/shutdown_times.h"
#include "services/gc/protect/shutdown/shutdown_watch.h"

namespace splitlet::gc {

class GracefulShutdown {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    ShutdownSource& source;
    peers::KillClient& pod_worker;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    NodeEvents& node_events;
    GcMetrics& metrics;
    std::function<void(bool shutting_down)> on_change;
    std::function<void()> on_read;  // the saved state has been read
  };
  GracefulShutdown(const Deps& deps, const GcConfig& config);

  /// Without groups it only calls `on_read`.
  void Start();
  /// `desired` or `workers` has changed.
  void OnPods();

 private:
  enum class Phase {
    kWatching,
    kEnding,  // pods end, group after group
    kEnded,   // the machine may shut down
  };
  /// A pod for which KillPod was sent.
  struct Asked {
    Candidate pod;
    size_t group = 0;      // the group that waits for the pod
    bool refused = false;  // by pod-worker: gc does not wait for the pod
    RepeatedFailure failure = {};
  };

  void OnSaved(const SavedShutdown& saved);
  void OnPreparing(bool preparing);
  void Begin();
  void Cancel();
  /// Sends KillPod to the pods whose turn it is. Starts the next group when all pods of this group
  /// are gone or its time is over.
  void Advance();
  void AskForEnds();
  bool GroupIsOver() const;
  void BeginGroup(size_t group);
  void ArmGroupEnd();
  void End();
  void Kill(const Asked& asked);
  void OnKilled(const std::string& uid, int64_t incarnation, const Status& status);
  /// Null: no KillPod was sent to this incarnation.
  Asked* FindAsked(const std::string& uid, int64_t incarnation);
  bool IsGone(const Asked& asked) const;
  size_t CountLeft() const;
  /// Saves progress and times, then calls `saved`. A failure is logged.
  void Save(std::function<void()> saved);
  void ShowTimes() const;
  Clock::Time GroupEnd() const;

  Deps deps_;
  const GcConfig& config_;
  const ShutdownGroups& groups_;
  ActivePods pods_;
  const std::shared_ptr<const ShutdownDisk> disk_;  // shared with the strand
  ShutdownWatch watch_;
  Phase phase_ = Phase::kWatching;
  ShutdownProgress progress_;
  ShutdownTimes times_;
  std::map<std::string, Asked> asked_;  // by UID
  exec::TimerId group_timer_ = 0;
  RepeatedFailure save_failure_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
