#pragma once

/// Sends grants, updates, syncs and kills to pod-worker. pod-worker resyncs each pod by itself, so
/// sync-loop sends nothing while nothing changes.
/// - One call is in flight for each pod: the one that a fresh comparison asks for.
/// - kGrantsAtOnce calls are in flight for all pods. More pods wait in line, each once.
/// - A call whose effect does not show within kEcho is sent again. A call that failed waits for its
///   back-off. A grant that is refused for good waits for kRefusedRetry, or until another is due.
/// In:    keys to compare, from SyncLoopService; the answers of pod-worker.
/// Owns:  the last call of each pod, the calls in flight, the pods that wait for a call slot,
/// back-offs, the pods that are due for a sync.
/// Out:   UpdatePod and KillPod to pod-worker.
/// Killed at any line: nothing is lost; the next start compares every pod and sends what is
/// missing.
/// Threads: loop thread; the calls run on strands.
/// Errors: logged once for each code, counted, tried again. A race (the pod changed between two
/// messages) is logged as a warning when it comes a third time in a row.
/// Source: docs/design.md, "The calls"; docs/safety.md, rules 14 and 15.

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "libs/peers/pod_worker_client.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/preemption_victims.h"
#include "services/sync-loop/grants/next_call.h"
#include "services/sync-loop/metrics.h"
#include "services/sync-loop/pods/known_pods.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::sync_loop {

/// The effect of a call shows in the worker's record long before this.
inline constexpr Duration kEcho = std::chrono::seconds{3};
/// The same version of pod-worker would refuse the same bytes again.
inline constexpr Duration kRefusedRetry = std::chrono::seconds{60};

class GrantSender {
 public:
  struct Deps {
    exec::Env env;
    peers::GrantClient& client;
    const bus::View<v1::WorkerRecord>& workers;
    const KnownPods& known;
    const AdmissionStore& store;
    const PreemptionVictims& victims;
    SyncLoopMetrics& metrics;
    std::function<void(const std::string& key)> on_sent;  // MayBeGranted is true from now on
  };
  /// `seed`: for jitter.
  GrantSender(const Deps& deps, uint64_t seed);

  void Start();
  /// Compares `key` soon, and calls when pod-worker lacks something.
  void Check(const std::string& key);
  /// Checks each pod that needs a call.
  void CheckAll();
  /// The worker of `key` is to sync its pod with the next call. `traceparent`: of the change that
  /// makes it due; may be empty.
  void MakeSyncDue(const std::string& key, const std::string& traceparent);
  /// The pod's record is gone.
  void Forget(const std::string& key);
  /// pod-worker may have taken a grant of the pod that its record does not show yet.
  bool MayBeGranted(const std::string& key) const;
  size_t in_flight() const { return in_flight_.size(); }
  /// The number of entries that are kept between calls.
  size_t remembered() const {
    return sent_.size() + backoff_.size() + failures_.size() + sync_due_.size() + waiting_.size();
  }

 private:
  /// The call as it goes out; built when it is sent.
  struct Call {
    NextCall what;
    v1::UpdatePodRequest update;
    v1::KillPodRequest kill;  // used when what.kind is kKill
    std::string traceparent;  // of the pod's last change; may be empty
  };
  struct Sent {
    NextCall what;
    Clock::Time at;
    bool refused = false;  // for good: a retry would be refused too
    Duration Quiet() const { return refused ? kRefusedRetry : kEcho; }
  };
  /// Failures in a row with the same code.
  struct Failures {
    StatusCode code = StatusCode::kOk;
    int times = 0;
  };
  void OnDue(const std::string& key);
  /// After an answer: compares and calls the pods that wait longest.
  void FillCallSlots();
  NextCall Compare(const std::string& key) const;
  /// `what` is a call. A sync that it builds is not due any more.
  Call Build(const std::string& key, const NextCall& what);
  v1::KillPodRequest BuildKill(const std::string& key, int64_t incarnation) const;
  void Send(const std::string& key, Call call);
  void OnAnswered(const std::string& key, const Call& call, const Status& status);
  /// How long to wait before the call is tried again.
  Duration OnFailed(const std::string& key, const Call& call, const Status& status);
  void ForgetSent(const std::string& key);
  std::string NewRequestId(const std::string& key);

  Deps deps_;
  Random random_;
  Clock::Time started_;
  uint64_t last_request_ = 0;

  std::map<std::string, Sent> sent_;
  std::map<std::string, Failures> failures_;
  std::set<std::string> in_flight_;
  std::set<std::string> again_;      // to be compared after the call in flight
  std::deque<std::string> waiting_;  // for a call slot; each once
  std::set<std::string> waiting_keys_;
  std::map<std::string, std::string> sync_due_;  // key -> trace of the change; may be empty
  exec::Backoff backoff_;
  exec::WorkQueue queue_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::sync_loop
