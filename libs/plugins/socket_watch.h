#pragma once

/// Keeps track of the sockets below the registry directory: a watcher for each folder reports that
/// something changed, and an inspection reads the folders.
/// In:      hints of the watchers; each minute a resync; inspections that have ended.
/// Owns:    the last inspection; a watcher for each folder.
/// Out:     on_found with the sockets, after each inspection.
/// Threads: the loop thread. Watchers are started, and folders read, on one strand.
/// Errors:  a Warn line for each new one. Without its watcher a folder is read every 10 s.
/// Source:  kubelet pluginwatcher; docs/safety.md, rule 7.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_watcher.h"
#include "libs/plugins/find_sockets.h"

namespace splitlet::plugins {

class SocketWatch {
 public:
  static constexpr Duration kResync = std::chrono::minutes{1};
  static constexpr Duration kUnwatchedResync = std::chrono::seconds{10};
  /// Shortest time between two inspections that hints ask for.
  static constexpr Duration kPause = std::chrono::milliseconds{100};

  struct Deps {
    const exec::Env& env;
    fs::FileSystem& files;  // outlives the strands
    std::function<std::unique_ptr<fs::FileWatcher>()> make_watcher;
    std::string directory;
    std::function<void(const FoundSockets& found)> on_found;
  };
  explicit SocketWatch(Deps deps);

  void Start();
  const FoundSockets& found() const { return found_; }

 private:
  struct Folder {
    // Shared with the strand's task that starts it.
    std::shared_ptr<fs::FileWatcher> watcher;
    enum class State { kNew, kStarting, kWatched, kFailed } state = State::kNew;
    std::string error;  // logged
  };
  struct Starting {
    std::string folder;
    std::shared_ptr<fs::FileWatcher> watcher;
    fs::FileWatcher::Callbacks callbacks;
  };
  struct Inspection {
    std::map<std::string, Status> watched;  // by folder that was to be watched
    FoundSockets found;
  };
  void OnHint();
  void OnWatched(const std::string& folder, const Status& watched);
  void OnInspected(Inspection inspection);
  void OnUnwatchedResync();
  void Inspect();
  std::vector<Starting> TakeNewFolders();
  bool SetFolders(const std::set<std::string>& found);
  void LogChanges(const FoundSockets& now) const;

  const Deps deps_;
  const exec::Env env_;
  FoundSockets found_;
  std::map<std::string, Folder> folders_;
  enum class Phase { kIdle, kInspecting, kPausing } phase_ = Phase::kIdle;
  bool again_ = false;     // inspect when the phase ends
  bool retrying_ = false;  // a timer starts failed watchers again
  std::optional<exec::Periodic> resync_;
  exec::Asker asker_;  // last: its end drops answers
};

}  // namespace splitlet::plugins
