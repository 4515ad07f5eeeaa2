#pragma once

/// Objects from a folder of manifests, watched as static pods are: what a node without an API
/// server has of them.
/// In:      the folder, by hints of the file watcher and every 20 s.
/// Owns:    the set that was read last.
/// Out:     the callback of Start, after each set that differs.
/// Killed:  the next start reads the folder.
/// Threads: the loop's; files on a strand of their own.
/// Errors:  a file that cannot be used keeps what it said before, as does a folder that cannot be
///          read; each is logged once and is in Notes().
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
  /// What is wrong, a line each.
  const std::vector<std::string>& Notes() const { return problems_; }

  /// As it is now; a value.
  std::shared_ptr<const ObjectSource> View() const { return view_; }

 private:
  struct File {
    uint64_t content = 0;  // hash and length
    ObjectSet set;         // what it said when it could be used last
    std::string problem;
  };
  using Files = std::map<std::string, File>;  // by path
  struct Look {
    Status status;
    Files files;
  };
  void Watch();
  void OnHint();
  void Read();
  Look LookAt(Files known) const;
  std::optional<File> ReadFile(const std::string& path, const File* known, uint64_t& room) const;
  void OnLook(Look look);
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
