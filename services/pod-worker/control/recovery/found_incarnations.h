#pragma once

/// Pods without a worker of this start: which incarnation of them the runtime and the permanent
/// records show, when it started and which attempts it started. A process that lacks the number of
/// such an incarnation takes it from the table, so that its containers go on.
/// In:      records on disk, the first listing of the runtime, workers that are added, a timer.
/// Owns:    the found incarnations; start times and started attempts of pods without a worker.
/// Out:     puts to `workers`, without a state; removals of pods that no source wants, from the
///          table when the runtime shows nothing of the pod, from the disk when config-source
///          confirms.
/// Killed:  found again by the next start.
/// Threads: the loop's, but for inspections of the runtime and questions.
/// Errors:  none; a question without an answer is asked again.
/// Source:  docs/safety.md, rules 2, 3 and 8.

#include <map>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/control/recovery/desired_confirmation.h"
#include "services/pod-worker/control/recovery/unreadable_records.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/termination/pod_runtime.h"
#include "splitlet/v1/pod_worker_records.pb.h"

namespace splitlet::v1 {
class DesiredRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

struct FoundIncarnation {
  std::string name, name_space, source;
  int64_t incarnation = 0;
};

class FoundIncarnations {
 public:
  struct Deps {
    exec::Env env;
    exec::Strands& runtime_strands;
    const bus::View<v1::DesiredRecord>& desired;
    bus::Table<v1::WorkerRecord>& table;
    const DesiredConfirmation& owner;
    const DiskRecords& records;
    const PodRuntime& runtime;
    const Workers& workers;
    const UnreadableRecords& unreadable;
  };
  explicit FoundIncarnations(Deps deps)
      : deps_(std::move(deps)), runtime_asker_(deps_.env.loop, deps_.runtime_strands) {}

  /// The start time of a pod without a worker, from its permanent record.
  void AddStartTime(const v1::SavedPod& saved);
  void AddStartedAttempts(const std::string& uid, const SavedStartedAttempts& saved) {
    started_attempts_[uid] = saved;
  }
  /// Sandboxes and containers of the first listing.
  void OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers);

  /// nullptr: none.
  const FoundIncarnation* Find(const std::string& uid) const;
  /// The UID that has this key of the table; empty: none is found.
  std::string UidOfKey(const std::string& key) const;
  void PutWorkers(const std::string& uid);
  /// The pod has a worker now.
  void OnWorkerAdded(const Worker& worker);
  /// Gives a new worker of the same incarnation what is known of it; then nothing of the pod is
  /// kept here.
  void HandOver(Worker& worker);
  /// Another incarnation begins.
  void Forget(const std::string& uid);
  /// Forgets the permanent records too.
  void ForgetForEver(const std::string& uid);
  /// Pods that no source wants. Now and then.
  void Collect();

 private:
  void CollectFound();
  void CollectStartTimes();

  const Deps deps_;
  std::map<std::string, FoundIncarnation> found_;                 // by UID
  std::map<std::string, v1::SavedPod> start_times_;               // by UID
  std::map<std::string, SavedStartedAttempts> started_attempts_;  // by UID
  const exec::Asker runtime_asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
