#pragma once

/// Where pods come from: merges the sets of all sources into the table `desired`.
/// In:    sets of the sources (files, URL, API server), `workers`.
/// Owns:  table `desired`: pod UID -> pod, source, incarnation, generation, and whether it is
/// WANTED, REMOVED, UNCONFIRMED or a MIRROR.
/// Out:   puts to `desired`; completeness of each source; event FailedValidation.
/// Killed at any line: facts of every pod are on disk before its record is put; the next start
/// reads them, reads every source, and removes nothing before its source was read.
/// Threads: loop thread only.
/// Errors: in GetSources and GetHealth.
/// Source: docs/behaviour/config-sources.md; docs/safety.md, rules 1 to 3, 6 to 9 and 26.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/apiclient/waiting.h"
#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_watcher.h"
#include "services/config-source/config.h"
#include "services/config-source/desired_store.h"
#include "services/config-source/incarnation.h"
#include "services/config-source/problem_log.h"
#include "services/config-source/sources/http/http_fetcher.h"
#include "services/config-source/sources/source.h"

namespace splitlet::v1 {
class WorkerRecord;
}

namespace splitlet::config_source {

struct ConfigSourceDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  fs::FileSystem& files;
  std::unique_ptr<fs::FileWatcher> watcher;   // for the source `file`
  std::unique_ptr<HttpFetcher> fetcher;       // for the source `http`
  std::unique_ptr<apiclient::Transport> api;  // for the source `api`; null: this node has none
  bus::Table<v1::DesiredRecord> table;
  bus::View<v1::WorkerRecord> workers;
  Log log;
  prometheus::Registry& metrics;
  daemon::EventRecorder& events;
  uint64_t seed = 1;                        // of trace ids and of numbers passed over
  apiclient::WaitUntil api_wait = nullptr;  // how strands wait for it; not set: on the real clock
};

/// What GetSources shows.
struct SourceView {
  std::string name, place;
  bool complete = false;
  std::string reason;  // why not
  size_t pods = 0;
  std::vector<Problem> problems;
};

class ConfigSourceService {
 public:
  ConfigSourceService(ConfigSourceDeps deps, ConfigSourceConfig config);
  ~ConfigSourceService();

  /// Another source, before Start.
  void AddSource(std::unique_ptr<Source> source);
  void Start();
  daemon::Health GetHealth() const;
  std::vector<SourceView> GetSources() const;
  /// What `desired` has of the pod. nullptr: nobody wants it. Of a pod that is not in `desired`
  /// UNAVAILABLE, unless every configured source is complete, or the pod was removed here and its
  /// worker has finished.
  StatusOr<std::unique_ptr<v1::DesiredRecord>> GetPod(const std::string& uid,
                                                      const std::string& source = "") const;
  /// Pods whose file cannot be read, a line each.
  std::vector<std::string> Notes() const;
  /// Puts that file aside: then the pod is what its source and `workers` say. NOT_FOUND: all can be
  /// read.
  void DiscardRecord(const std::string& uid,
                     std::function<void(StatusOr<std::vector<std::string>>)> done);

 private:
  struct SourceState {
    std::unique_ptr<Source> source;
    SourceSet set;               // the newest
    bool heard = false;          // of a set in this start
    bool complete = false;       // as set in the table
    std::set<std::string> uids;  // taken from the newest set
    std::vector<Problem> ignored;
    ProblemLog ignored_log;
    std::set<std::string> events_recorded;  // UIDs
  };
  void MakeSources();
  void OnFactsRead();
  void OnSet(SourceState& state, const SourceSet& set);
  void OnWorkers();
  void OnWorkersKnown();
  void PutGoneAside();
  void OnWorker(const std::string& uid);
  void OnPut(const std::string& uid);
  bool Merge(SourceState& state);
  void MergeAll();
  bool Apply(SourceState& state, const Change& change);
  void Add(const std::string& source, const Change& change);
  void Remove(const std::string& uid);
  void Update(const Change& change);
  /// A change: it begins a trace.
  void Set(const std::string& uid, KnownPod pod);
  void LogChange(const Change& change) const;
  void TakeStanding(SourceState& state, const MergeResult& result);
  void ReportIgnored(SourceState& state, const std::vector<Ignored>& ignored);
  void RecordDuplicates(SourceState& state, const std::vector<SourcePodRef>& duplicates);
  void WithdrawIfFinished(const std::string& uid);
  void CatchUpWith(const std::string& uid);
  std::optional<WorkerIncarnation> WorkerIncarnationOf(const std::string& uid) const;
  void PutCompleteness();
  bool AllPut(const SourceState& state) const;
  std::string WhyIncomplete(const SourceState& state) const;
  void CountPods();

  ConfigSourceDeps deps_;
  const ConfigSourceConfig config_;
  ConfigMetrics metrics_;
  DesiredStore store_;
  Random random_;
  std::map<std::string, SourceState> sources_;
  bool facts_read_ = false;
  // Pods of sources that are no longer configured are removed at the start, and none comes later.
  bool others_put_ = false;
  // A pod without facts waits until `workers` was complete once: its containers may run, and with
  // another number than theirs they would be of an earlier incarnation.
  bool workers_known_ = false;
  int64_t newest_ = 0;  // the highest incarnation that was seen since the start
};

}  // namespace splitlet::config_source
