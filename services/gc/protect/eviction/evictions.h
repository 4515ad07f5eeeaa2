#pragma once

/// Pods that were chosen to go and are not gone yet. Each is on disk before pod-worker hears of it,
/// so that whoever dies in between, no other pod is chosen beside it.
/// In:    victims from Evictor, changes of `workers`, timers.
/// Owns:  victims in flight and their files, for this boot.
/// Out:   KillPod, until it is answered; events of the pods; `on_none` when the last is gone.
/// Killed at any line: the next start reads the files and asks for the same end again, which
/// pod-worker takes once; a eviction counts for 30 s after it was chosen, whatever dies.
/// Threads: loop thread; files and calls on a strand of their own.
/// Errors: a file that cannot be written: the pod stays. A kill that is refused: the pod has ended
/// or lives another life; nothing is left of the choice.
/// Source: docs/safety.md, rules 3 and 19; docs/behaviour/eviction.md, "The end of a eviction".

#include <functional>
#include <map>
#include <string>

#include "libs/base/log.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/metrics.h"
#include "services/gc/protect/eviction/active_pods.h"
#include "services/gc/protect/eviction/message.h"

namespace splitlet::gc {

/// How long a second eviction waits for the first to be gone.
inline constexpr Duration kCleanupWait = std::chrono::seconds{30};

/// As it is on disk, too.
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
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    peers::KillClient& pod_worker;
    const ActivePods& pods;
    daemon::EventRecorder& events;
    GcMetrics& metrics;
    const Log& log;
    std::function<void()> on_none;
  };
  Evictions(Deps deps, const GcConfig& config);

  /// Reads those of an earlier start; `on_none` follows when there are none, or none any more.
  void Start();
  /// Until the files are read nobody knows whether there are.
  bool any() const { return !read_ || !evictions_.empty(); }
  void Add(PendingEviction eviction);
  void OnWorkers();

 private:
  struct Flight {
    PendingEviction eviction;
    bool accepted = false;
  };
  void OnRead(const StatusOr<fs::RecordStore::All>& facts);
  void Save(const std::string& uid);
  void Kill(const std::string& uid);
  void OnKilled(const std::string& uid, const Status& status);
  void WaitFor(const std::string& uid);
  /// The event of a pod whose containers run on after their time.
  void TellLate(const PendingEviction& eviction);
  enum class Then { kInspectAgain, kWait };  // what was refused is not asked for again at once
  void Drop(const std::string& uid, Then then);
  void Forget(const std::string& uid);

  Deps deps_;
  fs::RecordStore facts_;
  bool read_ = false, told_unread_ = false;
  std::map<std::string, Flight> evictions_;  // by UID
};

}  // namespace splitlet::gc
