#pragma once

/// Calls to pod-worker: at most one in flight per pod, always the one that a fresh comparison asks
/// for. A call whose effect does not show within kEcho is sent again; one that failed waits for its
/// back-off. Threads: loop thread; the calls run on strands. Errors: told to `answered`, counted,
/// tried again. Source: DESIGN.md "The calls": no call is a queue.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/sync-loop/grants/next_call.h"
#include "services/sync-loop/metrics.h"
#include "services/sync-loop/pod_worker_client.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::sync_loop {

inline constexpr Duration kCallTimeout = std::chrono::seconds{10};
/// What a worker took shows in its record long before this.
inline constexpr Duration kEcho = std::chrono::seconds{3};

/// The call as it goes out; built when it is sent.
struct OutgoingCall {
  NextCall what;
  v1::UpdatePodRequest update;
  v1::KillPodRequest kill;  // used when what.kind is kKill
  std::string traceparent;  // of the pod's last change; may be empty
};

class WorkerCalls {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    WorkerClient& client;
    SyncLoopMetrics& metrics;
    const Log& log;
    Random& random;
  };
  struct Hooks {
    std::function<NextCall(const std::string& key)> compare;
    /// nullopt: it cannot be sent now.
    std::function<std::optional<OutgoingCall>(const std::string& key, const NextCall& what)> build;
    /// False: the pod is gone, and nothing is kept of it.
    std::function<bool(const std::string& key, const OutgoingCall& call, const Status& status)>
        answered;
  };
  WorkerCalls(const Deps& deps, Hooks hooks);

  /// Compares `key` soon, and calls when something is to be told.
  void Check(const std::string& key);
  void Forget(const std::string& key);
  /// A pod was told to be created, and what pod-worker made of it may not show yet.
  bool MayBeGranted(const std::string& key) const;
  size_t in_flight() const { return in_flight_.size(); }
  /// Entries that are kept between calls.
  size_t remembered() const { return sent_.size() + backoff_.size() + told_.size(); }

 private:
  struct Sent {
    NextCall what;
    Clock::Time at;
  };
  void Work(const std::string& key);
  void Send(const std::string& key, OutgoingCall call);
  void OnAnswered(const std::string& key, const OutgoingCall& call, const Status& status);

  Deps deps_;
  Hooks hooks_;
  std::map<std::string, Sent> sent_;
  std::map<std::string, StatusCode> told_;  // failures that are in the log already
  std::set<std::string> in_flight_;
  std::set<std::string> again_;  // to be compared after the call in flight
  exec::Backoff backoff_;
  exec::WorkQueue queue_;
};

}  // namespace splitlet::sync_loop
