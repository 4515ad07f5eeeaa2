#pragma once

/// The state of each container's probes, and the results that may be published. A result is on disk
/// before it is published, so that a restart of pod-worker never takes it back.
/// In:      Set after a run that changed a state; Retain and Forget; the files of this boot.
/// Owns:    the states of all probes; the published results.
/// Out:     a file for each pod; on_published.
/// Killed:  runs that changed nothing are not written, so a restart forgets at most one run of a
///          row. A result that was not saved is not published; the next run of the probe finds it.
/// Threads: the loop's; files are written on the pod's strand of records.
/// Errors:  while a file cannot be written its results are not published; the write is retried.
/// Source:  docs/behaviour/probes.md, "Results"; docs/safety.md, rules 3, 6 and 22.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "libs/base/log.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/probes/schedule.h"
#include "services/pod-worker/records/disk_records.h"

namespace splitlet::v1 {
class SavedProbes;
}

namespace splitlet::pod_worker {

class ProbeResults {
 public:
  struct Deps {
    exec::Env env;
    const DiskRecords& records;
    /// `decides`: the results let a container start or stop.
    std::function<void(const std::string& uid, bool decides)> on_published;
  };
  explicit ProbeResults(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  struct Kept {
    ProbeState state;
    Clock::Time due;  // a tick
  };
  using Key = std::pair<std::string, ProbeKind>;  // container id

  /// A file of this boot. Its results are published.
  void OnRead(const v1::SavedProbes& saved);
  /// nullptr: no run of that container's probe is known.
  const Kept* Find(const std::string& uid, const Key& key) const;
  /// The published results of the pod.
  const ProbeResultsById& Of(const std::string& uid) const;
  void Set(const std::string& uid, const Key& key, Kept kept);
  /// Forgets all other containers of the pod.
  void Retain(const std::string& uid, const std::set<std::string>& container_ids);
  /// Removes the pod's file too.
  void Forget(const std::string& uid);

 private:
  struct Pod {
    std::map<Key, Kept> probes;
    ProbeResultsById published;
    bool saving = false, again = false;
    std::string error;  // of the last save; empty: it succeeded
  };
  void Save(const std::string& uid);
  void OnSaved(const v1::SavedProbes& saved, const Status& status);

  const Deps deps_;
  std::map<std::string, Pod> pods_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
