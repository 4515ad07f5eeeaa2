#pragma once

/// Ends the pods of the node, those of lower priority first, when the machine is about to go down,
/// and lets it go then.
/// In:    the machine's word from ShutdownWatch; changes of `desired` and `workers`; timers.
/// Owns:  Phase, the group whose pods end, which were asked to; the times of the last shutdown.
/// Out:   KillPod, until it is answered; `on_change` for the node's record; events of the node.
/// Killed at any line: what a group has begun is on disk for this boot; the next start goes on with
/// it and asks for the same ends again, which pod-worker takes once.
/// Threads: loop thread; files and calls on strands of their own.
/// Errors: a kill that fails is asked for again until the pods' time is over. Files that cannot be
/// read or written are logged: the machine's own word begins a shutdown anew.
/// Source: docs/behaviour/node-shutdown.md; docs/safety.md, rules 3 and 19.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/config.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/eviction/active_pods.h"
#include "services/gc/protect/shutdown/shutdown_times.h"
#include "services/gc/protect/shutdown/shutdown_watch.h"

namespace splitlet::gc {

class GracefulShutdown {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    ShutdownSource& source;
    peers::KillClient& pod_worker;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    NodeEvents& node_events;
    GcMetrics& metrics;
    const Log& log;
    std::function<void(bool shutting_down)> on_change;
    std::function<void()> on_read;  // what an earlier start left is known
  };
  GracefulShutdown(const Deps& deps, const GcConfig& config);

  /// Without groups it only says `on_read`.
  void Start();
  /// A pod came, ended, or is known now.
  void OnPods();

 private:
  enum class Phase {
    kWatching,
    kEnding,  // pods end, group by group
    kEnded,   // the machine may go down
  };
  struct Left {
    std::optional<ShutdownTimes> times;
    std::optional<ShutdownProgress> progress;
    std::vector<std::string> problems;
  };
  /// A pod that was asked to end.
  struct Asked {
    Candidate pod;
    size_t group = 0;  // that waits for it
    bool refused = false, logged_error = false;
  };

  Left ReadLeft() const;
  void OnLeft(const Left& left);
  void OnPreparing(bool preparing);
  void Begin();
  void Cancel();
  /// Asks whom it is time for, and goes on to the next group when nobody of this one is left.
  void Advance();
  void AskForEnds();
  bool GroupIsOver() const;
  void BeginGroup(size_t group);
  void ArmGroupEnd();
  void End();
  void Kill(const Asked& asked);
  void OnKilled(const std::string& uid, int64_t incarnation, const Status& status);
  /// Nothing: it was not asked in this incarnation.
  Asked* FindAsked(const std::string& uid, int64_t incarnation);
  bool IsGone(const Asked& asked) const;
  size_t CountLeft() const;
  /// Then `saved`; what cannot be saved is logged.
  void Save(std::function<void()> saved);
  Status SaveShutdown(const std::string& progress, const std::string& times) const;
  void ShowTimes() const;
  Clock::Time GroupEnd() const;

  Deps deps_;
  const GcConfig& config_;
  const ShutdownGroups& groups_;
  ActivePods pods_;
  fs::RecordStore facts_;
  ShutdownWatch watch_;
  Phase phase_ = Phase::kWatching;
  ShutdownProgress progress_;
  ShutdownTimes times_;
  std::map<std::string, Asked> asked_;  // by UID
  exec::TimerId group_timer_ = 0;
};

}  // namespace splitlet::gc
