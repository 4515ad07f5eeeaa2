#pragma once

/// Writes the statuses of pods to the API server, and deletes the pods that have ended there.
/// In:      records of `podstatus` that were put or removed, changes of `desired`, mirror pods that
///          come and go, a pass every 10 s.
/// Owns:    for each pod: the version of its record that the server has, and what the server last
///          showed of it.
/// Out:     patches of the status subresource; the final deletion of pods that a client deleted.
/// Killed:  at any line: nothing is lost; the next start reads each pod once and sends what
///          differs.
/// Threads: the loop's; calls run on a few strands, those of one pod one after the other.
/// Errors:  logged when they change. A pod is tried again after 1 s to 30 s, or as soon as the
///          server is back. Only the latest status of a pod waits for the server, in the table.
/// Source:  docs/behaviour/status.md, "To the API server"; docs/safety.md, rules 20 and 23.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "libs/apiclient/client.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/status/api/mirror/mirror_pods.h"
#include "services/status/api/pod_metrics.h"
#include "services/status/api/pods/finished_pods.h"
#include "services/status/api/pods/pod_call.h"
#include "services/status/api/pods/pod_writer.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

class PodStatusWriter {
 public:
  struct Deps {
    exec::Env env;
    std::shared_ptr<apiclient::Client> client;
    std::shared_ptr<FinishedPods> finished;
    const bus::Table<v1::PodStatusRecord>& table;
    const bus::View<v1::DesiredRecord>& desired;
    MirrorPods& mirrors;
    PodApiMetrics& metrics;
    /// Called when the server has accepted this status of the pod. Optional.
    std::function<void(const std::string& key, const kube::PodStatus&)> on_stored = nullptr;
    uint64_t seed = 1;  // of jitter
  };
  explicit PodStatusWriter(Deps deps);
  ~PodStatusWriter();
  PodStatusWriter(const PodStatusWriter&) = delete;
  PodStatusWriter& operator=(const PodStatusWriter&) = delete;

  /// Cancels running calls.
  void BeginStop() { stop_->Cancel(); }

  /// The record of the pod was put or removed.
  void OnStatus(const std::string& key);
  /// The pod has changed in `desired`.
  void OnDesired(const std::string& key);
  /// The mirror pod of this static pod was replaced or has changed.
  void OnMirror(const std::string& static_key);
  void OnReconcile();

 private:
  /// Whether a call for the pod runs. BeginCall, EndCall and RepeatCall alone change it.
  enum class Call {
    kNone,
    kRuns,
    kRunsOnceMore,  // the pod has changed since the call began, and needs another one
  };
  struct Pod : PodAtServer {
    Clock::Time unsent_since;  // no time: the server has the latest status
    Call call = Call::kNone;
    std::string logged_error;  // empty: none

    bool busy() const { return call != Call::kNone; }
    void BeginCall() { call = Call::kRuns; }
    void RepeatCall() { call = Call::kRunsOnceMore; }
    /// True: another call is needed.
    bool EndCall() { return std::exchange(call, Call::kNone) == Call::kRunsOnceMore; }
  };

  /// Nothing: the API server has no object for the status, or may have none.
  std::optional<PodTarget> TargetOf(const std::string& key,
                                    const v1::PodStatusRecord& record) const;
  void AddSoon(const std::string& key);
  void OnShown(const std::string& key);
  void Work(const std::string& key);
  void Write(const std::string& key, const v1::PodStatusRecord& record, const PodTarget& target);
  void OnWritten(const std::string& key, uint64_t version, const PodTarget& target,
                 const Written& written);
  void AskFinished(const std::string& key);
  void OnFinished(const std::set<std::string>& keys,
                  const StatusOr<std::map<std::string, int64_t>>& finished);
  void Delete(const std::string& key);
  void OnDeleted(const std::string& key, const PodObject& object, const Status& status);
  void Fail(const std::string& key, const char* call, const Status& status);
  /// The server has answered: pods that could not reach it are tried again now.
  void OnReached();

  Deps deps_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  std::map<std::string, Pod> pods_;
  std::set<std::string> compare_;    // to compare with the next pass
  std::set<std::string> unreached_;  // wait until the server is back
  std::set<std::string> to_ask_;     // pod-worker must be asked whether they are finished
  bool asking_ = false;
  exec::Backoff backoff_;
  exec::WorkQueue queue_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::status
