#pragma once

/// The pods that were chosen for eviction and are not gone yet. Each eviction is saved before
/// pod-worker receives KillPod, so that a crash in between does not lead to a second eviction.
/// In:    evictions from Evictor, changes of `workers`, timers.
/// Owns:  the pending evictions and their files, for this boot.
/// Out:   KillPod, until pod-worker answers; events of the pods; `on_none` when the last pod is
/// gone.
/// Killed at any line: the next start reads the files and sends the same KillPod again, which
/// pod-worker carries out once. An eviction stays pending for at most 30 s, also over restarts.
/// Threads: loop thread; files and calls on a strand of their own.
/// Errors: a repeated failure is logged once for each code. When the file cannot be written, the
/// is not evicted, so that fs::RecordWriter does not fit. When pod-worker refuses KillPod, the
/// incarnation has ended or another one runs, and the eviction is dropped.
/// Source: docs/safety.md, rules 3 and 19; docs/behaviour/eviction.md, "The end of an evicted pod".

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "libs/base/log.h"
#include "libs/daemon/service.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/metrics.h"
#include "services/gc/protect/eviction/active_pods.h"
#include "services/gc/protect/eviction/message.h"
#include "services/gc/protect/repeated_failure.h"

namespace splitlet::gc {

/// How long the next eviction waits for an evicted pod to be gone.
inline constexpr Duration kCleanupWait = std::chrono::seconds{30};

/// An eviction that is not finished yet, as it is also saved.
struct PendingEviction {
  std::string uid, name_space, name;
  int64_t incarnation = 0;
  std::string signal;  // for the metric
  std::string message;
  Annotations annotations;  // of the event
  int64_t grace_seconds = 1;
  bool own_limit = false;
  Clock::Time chosen_at;
};
std::string EncodeEviction(const PendingEviction& eviction);
StatusOr<PendingEviction> DecodeEviction(const std::string& bytes, uint64_t boot);

class Evictions {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    peers::KillClient& pod_worker;
    const ActivePods& pods;
    daemon::EventRecorder& events;
    GcMetrics& metrics;
    std::function<void()> on_none;
  };
  Evictions(Deps deps, const GcConfig& config);

  /// Reads the evictions of an earlier start. `on_none` follows when none is pending.
  void Start();
  /// Whether an eviction is pending; true until the files are read.
  bool any() const { return !read_ || !evictions_.empty(); }
  void Add(PendingEviction eviction);
  void OnWorkers();

 private:
  struct Flight {
    PendingEviction eviction;
    bool accepted = false;  // by pod-worker
    RepeatedFailure failure = {};
  };
  void OnRead(const StatusOr<fs::RecordStore::All>& records);
  void Save(const std::string& uid);
  void Kill(const std::string& uid);
  void OnKilled(const std::string& uid, const Status& status);
  void WaitFor(const std::string& uid);
  /// Records the event of a pod whose containers run longer than their grace period.
  void ReportOverdue(const PendingEviction& eviction);
  enum class Then { kInspectAgain, kWait };  // kWait: pod-worker refused, so gc waits for the timer
  void Drop(const std::string& uid, Then then);
  void Forget(const std::string& uid);

  Deps deps_;
  const std::shared_ptr<const fs::RecordStore> records_;  // shared with the strand
  bool read_ = false;
  RepeatedFailure read_failure_;
  std::map<std::string, Flight> evictions_;  // by UID
  const exec::Asker asker_;                  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
