#pragma once

/// API objects from a folder of manifests, for a node without an API server. The folder is watched
/// like that of static pods.
/// In:      the folder, at hints of the file watcher and every 20 s.
/// Owns:    the set that was read last.
/// Out:     the callback of Start, after each set that differs from the last.
/// Killed:  the next start reads the folder.
/// Threads: the loop's; files on their own strand.
/// Errors:  a file or folder that cannot be used keeps its last objects; each problem is logged
///          once and is in Notes().
/// Source:  docs/behaviour/objects.md, "The folder".

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "libs/fs/file_watcher.h"
#include "services/pod-worker/objects/object_set.h"

namespace splitlet::pod_worker {

class FolderObjects {
 public:
  /// Objects are at most 1 MiB at an API server; a file may hold several.
  static constexpr uint64_t kMaxFile = 4u << 20;
  static constexpr uint64_t kMaxFolder = 64u << 20;

  struct Deps {
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    std::unique_ptr<fs::FileWatcher> watcher;
    Log log;
  };
  FolderObjects(Deps deps, std::string path);

  /// `on_change`: on the loop.
  void Start(std::function<void()> on_change);
  /// The present problems, one line each.
  const std::vector<std::string>& Notes() const { return problems_; }

  /// The present objects; a value.
  std::shared_ptr<const ObjectSource> View() const { return view_; }

 private:
  struct File {
    uint64_t content = 0;  // hash and length
    ObjectSet set;         // of the last content that could be used
    std::string problem;
  };
  using Files = std::map<std::string, File>;  // by path
  /// The outcome of reading the folder once.
  struct Inspection {
    Status status;
    Files files;
  };
  void Watch();
  void OnHint();
  void Read();
  Inspection Inspect(Files known) const;
  std::optional<File> ReadFile(const std::string& path, const File* known, uint64_t& room) const;
  void OnInspected(Inspection inspection);
  void Report(std::vector<std::string> problems);

  Deps deps_;
  const std::string path_;
  std::shared_ptr<const ObjectSource> view_;
  bool read_ = false;
  std::function<void()> on_change_;
  Files files_;
  std::vector<std::string> problems_;
  bool reading_ = false, again_ = false, watch_lost_ = false;
  exec::Periodic timer_;
};

}  // namespace splitlet::pod_worker
