#pragma once

/// The source `file`: a directory of manifests, or one. Looks at all of them every period, whatever
/// comes between; at those that the watcher names when it does; and soon again at one that vanished
/// or could not be used. Hints without pause are followed ever more slowly, down to ten looks a
/// second. A watch that is lost is set again with back-off; until then the period alone finds what
/// changes.
/// In:    the watcher's hints, the period, what the strand has read.
/// Out:   sets of pods; whether the path is watched.
/// Killed at any line: nothing is lost; the next start reads everything.
/// Threads: loop thread; the watcher's callbacks on any.
/// Errors: in the sets.
/// Source: docs/behaviour/config-sources.md, "Manifest files".

#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "libs/fs/file_watcher.h"
#include "services/config-source/problem_log.h"
#include "services/config-source/sources/file/catalog.h"
#include "services/config-source/sources/file/reader.h"

namespace splitlet::config_source {

/// A look that takes longer makes the source incomplete: a network file system is away.
inline constexpr Duration kLookLimit = std::chrono::seconds{30};

class FileSource final : public Source {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    std::unique_ptr<fs::FileWatcher> watcher;
    ManifestReader::Decode decode;
    Log log;
    std::function<void(Duration)> on_read_time;  // of one pass
    std::function<void(bool)> on_watched;        // whether changes are noticed at once
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
  void Start(std::vector<SourcePodRef> remembered, OnSet on_set) override;
  /// Something may have changed.
  void OnHint(const fs::Hint& hint);

 private:
  void Watch();
  void OnWatched(const Status& watched);
  void OnWatchLost(const Status& why);
  void StartLook();
  /// What else is due, and what was named; nothing: a look at all is needed.
  std::vector<std::string> PathsToLookAt(const fs::Hint& hint, Clock::Time now) const;
  void LookAtAll(ManifestReader::Which which);
  void LookAt(std::vector<std::string> paths);
  void OnListing(const Listing& listing);
  void OnRead(const std::vector<ReadFile>& batch);
  void OnLooks(const std::vector<Look>& looks);
  void OnLookDone(Clock::Time started);
  void OnStuck();
  void PutSet();
  SeenAt Now() const { return {deps_.clock.Now(), deps_.clock.WallNow()}; }
  /// The next look, for whatever comes first.
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
  fs::Hint hinted_;      // what to look at next
  exec::Backoff hints_;  // of looks for hints
  // The directory may have some: a name does not tell which manifest changed.
  bool links_ = true;
  Clock::Time regular_at_;   // when all are opened again
  exec::TimerId timer_ = 0;  // the next look, or, while one runs, the end of patience with it
  exec::Backoff watching_;
  std::string unlisted_;   // why, while they cannot be listed
  std::string unwatched_;  // why; empty while the path is watched
  exec::TimerId watch_timer_ = 0;
};

}  // namespace splitlet::config_source
