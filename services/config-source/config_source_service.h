#pragma once

/// Merges the sets of all sources of pods into the table `desired`.
/// In:    sets of the sources (files, URL, API server), `workers`.
/// Owns:  table `desired`: pod UID -> pod, source, incarnation, generation, and whether it is
/// WANTED, REMOVED, UNCONFIRMED or a MIRROR.
/// Out:   puts to `desired`; completeness of each source; event FailedValidation.
/// Killed at any line: each record is on disk before it is in the table. The next start reads the
/// records, then every source, and removes no pod before its source was read.
/// Threads: loop thread only.
/// Errors: in GetSources and GetHealth.
/// Source: docs/behaviour/config-sources.md; docs/safety.md, rules 1 to 3, 6 to 9 and 26.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/record_store.h"
#include "services/config-source/completeness.h"
#include "services/config-source/desired/desired_store.h"
#include "services/config-source/desired/incarnation.h"
#include "services/config-source/metrics.h"
#include "services/config-source/sources/problem_log.h"
#include "services/config-source/sources/source.h"

namespace splitlet::v1 {
class WorkerRecord;
}

namespace splitlet::config_source {

struct ConfigSourceDeps {
  exec::Env env;
  std::shared_ptr<ConfigMetrics> metrics;
  std::shared_ptr<fs::RecordStore> records;
  std::vector<std::unique_ptr<Source>> sources;
  bus::Table<v1::DesiredRecord> table;
  bus::View<v1::WorkerRecord> workers;
  daemon::EventRecorder& events;
  uint64_t seed = 1;  // of trace ids and of skipped numbers
};

/// A source in GetSources.
struct SourceView {
  std::string name, place;
  bool complete = false;
  std::string reason;  // why not
  size_t pods = 0;
  std::vector<Problem> problems;
};

class ConfigSourceService {
 public:
  explicit ConfigSourceService(ConfigSourceDeps deps);
  ~ConfigSourceService();

  void Start();
  daemon::Health GetHealth() const;
  std::vector<SourceView> GetSources() const;
  /// The pod's record in `desired`. nullptr: no source wants the pod. UNAVAILABLE: the pod has no
  /// record, and a configured source is incomplete. A pod that was removed here and whose worker
  /// has finished is not wanted even then.
  StatusOr<std::unique_ptr<v1::DesiredRecord>> GetPod(const std::string& uid,
                                                      const std::string& source = "") const;
  /// A line for each pod whose saved record cannot be read.
  std::vector<std::string> Notes() const;
  /// Moves that file away: then only the source and `workers` decide about the pod. NOT_FOUND: the
  /// pod has no unreadable record.
  void DiscardRecord(const std::string& uid,
                     std::function<void(StatusOr<std::vector<std::string>>)> done);

 private:
  struct SourceState {
    std::unique_ptr<Source> source;
    SourceSet set;  // the newest
    SourceStage stage = SourceStage::kUnread;
    std::set<std::string> uids;  // of the newest set, without ignored pods
    std::vector<Problem> ignored;
    ProblemLog ignored_log;
    std::set<std::string> events_recorded;  // UIDs
  };
  void OnLoaded();
  void OnSet(SourceState& state, const SourceSet& set);
  void OnWorkers();
  void OnWorkersComplete();
  void DiscardGone();
  void OnWorker(const std::string& uid);
  void OnPut(const std::string& uid);
  bool Merge(SourceState& state);
  void MergeAll();
  bool Apply(SourceState& state, const Change& change);
  void Add(const std::string& source, const Change& change);
  void Remove(const std::string& uid);
  void Update(const Change& change);
  /// Sets a pod that changed: begins a trace.
  void Set(const std::string& uid, DesiredPod pod);
  void LogChange(const Change& change) const;
  void AcceptUnchanged(SourceState& state, const MergeResult& result);
  void ReportIgnored(SourceState& state, const std::vector<Ignored>& ignored);
  void RecordDuplicates(SourceState& state, const std::vector<SourcePodRef>& duplicates);
  void WithdrawIfFinished(const std::string& uid);
  void CatchUpWith(const std::string& uid);
  std::optional<WorkerIncarnation> WorkerOf(const std::string& uid) const;
  void PutCompleteness();
  bool AllPut(const SourceState& state) const;
  SourceProgress ProgressOf(const SourceState& state) const;
  /// Each source has all its pods in the table.
  bool AllComplete() const;
  void CountPods();

  ConfigSourceDeps deps_;
  DesiredStore store_;
  Random random_;
  std::map<std::string, SourceState> sources_;
  Stage stage_ = Stage::kReadingFiles;
  // Pods of sources that are no longer configured are removed at the start; no others follow.
  bool others_put_ = false;
  int64_t newest_ = 0;  // the highest incarnation since the start
};

}  // namespace splitlet::config_source
