#pragma once

/// How the probes of each container stand, and what of it others may know: a result is on disk
/// before it is published, so that no restart of this process takes it back.
/// In:      Set after a run that changed something; Retain and Forget; the files of this boot.
/// Owns:    the states of all probes; the results that are published.
/// Out:     a file for each pod; on_published.
/// Killed:  runs that changed nothing are not written: of a row of runs at most one is forgotten.
///          What was to be published is not, and the next run of the probe finds it again.
/// Threads: the loop's; files are written on the pod's strand of records.
/// Errors:  a file that cannot be written keeps its result from being published; tried again.
/// Source:  docs/behaviour/probes.md, "Results"; docs/safety.md, rules 3, 6 and 22.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "libs/base/log.h"
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
    exec::EventLoop& loop;
    exec::Strands& strands;
    const DiskRecords& records;
    const Log& log;
    /// `decides`: a container has started, or has to be stopped.
    std::function<void(const std::string& uid, bool decides)> on_published;
  };
  explicit ProbeResults(Deps deps) : deps_(std::move(deps)) {}

  struct Kept {
    ProbeState state;
    Clock::Time due;  // a tick
  };
  using Key = std::pair<std::string, ProbeKind>;  // container id

  /// From this boot's file. Its results are published.
  void OnRead(const v1::SavedProbes& fact);
  /// nullptr: nothing is known of that container's probe.
  const Kept* Find(const std::string& uid, const Key& key) const;
  /// What is published of it.
  const ProbeResultsById& Of(const std::string& uid) const;
  void Set(const std::string& uid, const Key& key, Kept kept);
  /// Forgets all containers of the pod but these.
  void Retain(const std::string& uid, const std::set<std::string>& container_ids);
  /// Its file goes too, unless it has none.
  void Forget(const std::string& uid);

 private:
  struct Pod {
    std::map<Key, Kept> probes;
    ProbeResultsById published;
    bool saving = false, again = false;
    std::string error;  // of the last save
  };
  void Save(const std::string& uid);
  void OnSaved(const v1::SavedProbes& saved, const Status& status);

  const Deps deps_;
  std::map<std::string, Pod> pods_;
};

}  // namespace splitlet::pod_worker
