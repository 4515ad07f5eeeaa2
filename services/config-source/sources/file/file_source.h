#pragma once

/// The source `file`: a directory of manifests, or one manifest.
/// - The resync opens all manifests every period, whatever comes between.
/// - A hint of the watcher leads to an inspection of the files that it names. Hints without pause
/// are
///   followed more and more slowly, down to ten inspections a second.
/// - A manifest that vanished or could not be used is inspected again soon.
/// - A lost watch is set again with back-off; until then only the resync finds changes.
/// In:    the watcher's hints, the period, the results of the strand.
/// Out:   sets of pods; whether the path is watched.
/// Killed at any line: nothing is lost; the next start reads everything.
/// Threads: loop thread; the watcher's callbacks on any.
/// Errors: in the sets.
/// Source: docs/behaviour/config-sources.md, "Manifest files".

#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "libs/fs/file_watcher.h"
#include "services/config-source/sources/file/catalog.h"
#include "services/config-source/sources/file/reader.h"
#include "services/config-source/sources/problem_log.h"

namespace splitlet::config_source {

/// An inspection that takes longer makes the source incomplete: a network file system may hang.
inline constexpr Duration kInspectionLimit = std::chrono::seconds{30};

class FileSource final : public Source {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    std::unique_ptr<fs::FileWatcher> watcher;
    ManifestReader::Decode decode;
    std::function<void(Duration)> on_read_time;  // of one inspection
    std::function<void(bool)> on_watched;        // whether changes are noticed immediately
  };
  struct Options {
    std::string path;
    std::string node_name;
    Duration period;
  };
  FileSource(Deps deps, Options options);
  ~FileSource() override;

  const std::string& name() const override { return name_; }
  const std::string& place() const override { return options_.path; }
  void Start(std::vector<SourcePodRef> saved, OnSet on_set) override;
  /// Something may have changed.
  void OnHint(const fs::Hint& hint);

 private:
  void Watch();
  void OnWatched(const Status& watched);
  void OnWatchLost(const Status& why);
  void StartInspection();
  /// The manifests that are due or named by the hint; empty: all have to be inspected.
  std::vector<std::string> PathsToInspect(const fs::Hint& hint, Clock::Time now) const;
  void InspectAll(ManifestReader::Which which);
  void Inspect(std::vector<std::string> paths);
  void OnListing(const Listing& listing);
  void OnRead(const std::vector<ReadFile>& batch);
  void OnInspections(const std::vector<Inspection>& inspections);
  void OnInspectionDone(Clock::Time started);
  void OnStuck();
  void PutSet();
  SeenAt Now() const { return {deps_.env.clock.Now(), deps_.env.clock.WallNow()}; }
  /// Sets the timer of the next inspection.
  void Arm();

  const std::string name_;
  Deps deps_;
  const Options options_;
  std::shared_ptr<ManifestReader> reader_;  // used on the strand alone
  FileCatalog catalog_;
  ProblemLog problems_;
  OnSet on_set_;
  std::vector<std::string> skipped_;
  uint64_t reported_version_ = 0;
  bool reading_ = false;
  fs::Hint hinted_;      // to be inspected next
  exec::Backoff hints_;  // of inspections for hints
  // The directory may have links: then a name does not show which manifest changed.
  bool links_ = true;
  Clock::Time resync_at_;    // when all manifests are opened again
  exec::TimerId timer_ = 0;  // the next inspection, or the limit of the one in flight
  exec::Backoff watching_;
  std::string unlisted_;   // why the path cannot be listed; empty: it can
  std::string unwatched_;  // why the path is not watched; empty: it is
  exec::TimerId watch_timer_ = 0;
};

}  // namespace splitlet::config_source
