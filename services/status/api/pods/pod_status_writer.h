#pragma once

/// The statuses of pods, brought to the API server.
/// In:      records of `podstatus` that were put or removed, changes of `desired`, mirror pods that
///          come and go, a pass each 10 s.
/// Owns:    of each pod: which version of its record the server has, and what the server showed
///          last.
/// Out:     patches of the status subresource; the final deletion of pods that were asked to go.
/// Killed:  at any line: nothing is lost; the next start reads each pod once and sends what
///          differs.
/// Threads: the loop's; calls on a few strands, of one pod one after the other.
/// Errors:  logged when they change, and tried again after 1 s to 30 s for each pod, or as soon as
///          the server is back. Only the latest status of a pod waits for it, in the table.
/// Source:  docs/behaviour/status.md, "To the API server"; docs/safety.md, rules 20 and 23.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "libs/apiclient/client.h"
#include "libs/base/cancel.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/status/api/mirror/mirror_pods.h"
#include "services/status/api/pod_metrics.h"
#include "services/status/api/pods/finished_pods.h"
#include "services/status/api/pods/pod_writer.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

class PodStatusWriter {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<apiclient::Client> client;
    std::shared_ptr<FinishedPods> finished;
    const bus::Table<v1::PodStatusRecord>& table;
    const bus::View<v1::DesiredRecord>& desired;
    MirrorPods& mirrors;
    PodApiMetrics& metrics;
    Log log;
    /// The server has this status of the pod now; may be left out.
    std::function<void(const std::string& key, const kube::PodStatus&)> on_stored = nullptr;
    uint64_t seed = 1;  // of jitter
  };
  explicit PodStatusWriter(Deps deps);
  ~PodStatusWriter();
  PodStatusWriter(const PodStatusWriter&) = delete;
  PodStatusWriter& operator=(const PodStatusWriter&) = delete;

  /// Gives up what is under way.
  void BeginStop() { stop_->Cancel(); }

  /// Its record was put or removed.
  void OnStatus(const std::string& key);
  /// Its pod has changed in `desired`.
  void OnDesired(const std::string& key);
  /// Its mirror pod is another, or has changed.
  void OnMirror(const std::string& static_key);
  void OnReconcile();

 private:
  struct Pod {
    uint64_t sent = 0;                        // version of the record that `server` has
    std::string uid;                          // of the object that has it
    std::shared_ptr<const ServerPod> server;  // null: not known, read first
    std::string shown_version;                // that config-source had last
    Clock::Time unsent_since;                 // no time: nothing waits
    bool busy = false, again = false;
    bool first = true;     // nothing was written since the start
    bool differs = false;  // the server shows something newer that was not looked at
    bool gone = false;     // the server has no such pod
    bool failed = false;   // the last call was not answered, or refused
    std::string problem;   // that was logged
  };
  /// What a pod's status is written to, and what the server was last seen to have of it.
  struct Target {
    PodObject object;
    bool mirror = false;
    bool live = false;  // what is shown is all that the server has to say
    std::shared_ptr<const ServerPod> shown;
  };

  std::optional<Target> TargetOf(const std::string& key, const v1::PodStatusRecord& record) const;
  std::shared_ptr<const ServerPod> BaseFor(const Pod& pod, const Target& target) const;
  void AddSoon(const std::string& key);
  void NoteShown(const std::string& key);
  void Work(const std::string& key);
  void Write(const std::string& key, const v1::PodStatusRecord& record, const Target& target);
  void OnWritten(const std::string& key, uint64_t version, const Target& target,
                 const Written& written);
  bool MayBeDeleted(const Pod& pod, const v1::PodStatusRecord& record, const Target& target) const;
  void AskFinished(const std::string& key);
  void OnFinished(const std::set<std::string>& keys,
                  const StatusOr<std::map<std::string, int64_t>>& finished);
  void Delete(const std::string& key);
  void OnDeleted(const std::string& key, const PodObject& object, const Status& status);
  void Fail(const std::string& key, const char* call, const Status& status);
  void NoteReached();

  Deps deps_;
  const std::shared_ptr<CancelToken> stop_;
  Random random_;
  std::map<std::string, Pod> pods_;
  std::set<std::string> compare_;    // with the next pass
  std::set<std::string> unreached_;  // wait for the server to be back
  std::set<std::string> to_ask_;     // whether they are finished
  bool asking_ = false;
  exec::Backoff backoff_;
  exec::WorkQueue queue_;
  std::shared_ptr<bool> alive_;
};

}  // namespace splitlet::status
